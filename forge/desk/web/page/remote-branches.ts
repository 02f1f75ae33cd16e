/** Remote branches, and the local branches that are made of them. */
import { heldKeys } from '../ui/held-keys.ts'
import { named } from '../ui/names.ts'
import type { Page } from './state.ts'
import { undoOfLast } from './undo.ts'

/** A branch of a remote, as last fetched. `words`: its name with the remote's. */
export interface RemoteBranch {
  ref: string
  remote: string
  name: string
  words: string
  tip: string
  committed: number | undefined
}

/** All remote branches, as far as the refs are loaded. */
export function remoteBranches({ graph }: Page): RemoteBranch[] {
  const remotes = graph.refs.value?.remotes ?? []
  return remotes.flatMap(remote =>
    remote.branches.map(({ ref, name, tip, committed }) => ({
      ...{ ref, remote: remote.name, name, tip, committed },
      words: `${remote.name}/${name}`,
    })),
  )
}

/** Opens the local branch with the name of a remote one. If there is none, it is created, as by `git switch`. */
export async function switchTo(page: Page, { ref, name, words, tip }: RemoteBranch): Promise<void> {
  const isNew = page.branch(name) === undefined
  // What is typed until the branch is there is for it, and not for the one that is left.
  const keys = heldKeys.hold()
  try {
    if (isNew) {
      await page.connection.ask('new branch', { branch: name, from: tip, tracks: ref })
      page.tell({ title: `Created ${named(name)}, which tracks ${named(words)}`, ...undoOfLast(page) })
    }
    page.open({ kind: 'branch', branch: name })
    page.wantFocusBack()
    keys.release()
  } finally {
    keys.forget()
  }
}
