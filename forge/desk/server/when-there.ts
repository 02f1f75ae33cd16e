/** A desk that is still being loaded when its server begins to answer: who asks for it waits. */
import type { Line, Listener, Served } from './server.ts'

type Asked = Pick<Served, 'image' | 'enter' | 'beginning'>

/** What a desk is asked for, as soon as it is there. What a window says before is heard then, in its order. */
export function whenThere(coming: Promise<Asked>): Asked {
  // Where it does not come, the process ends, and says why.
  coming.catch(() => undefined)
  return {
    image: async oid => await (await coming).image(oid),
    beginning: async () => await (await coming).beginning(),
    enter: line => listenWhenThere(coming, line),
  }
}

function listenWhenThere(coming: Promise<Asked>, line: Line): Listener {
  const listener = coming.then(desk => desk.enter(line))
  const tell = (what: (listener: Listener) => void) => void listener.then(what, () => undefined)
  return { hear: text => tell(it => it.hear(text)), leave: () => tell(it => it.leave()) }
}
