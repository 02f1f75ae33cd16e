/** The annotated tags at a commit, below its message. */
import { usePage } from '../page/state.ts'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { readable, withoutTricks } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { ago, timeTitle } from '../ui/times.ts'
import { MessageBody } from './message-body.tsx'

/** Delay before the tags of a selected commit are loaded, in milliseconds, so that a held key loads only the last. */
const ASK_AFTER_MS = 60
/** At most this many annotated tags of a commit are shown with their messages. */
const MAX_TAGS = 20

/** The messages of the annotated tags at a commit, with the names and dates of their taggers. */
export function TagMessages({ commit }: { commit: string }) {
  const page = usePage()
  const labels = page.graph.labels.value.get(commit) ?? []
  const tags = labels.filter(label => label.kind === 'tag' && label.annotated !== undefined).slice(0, MAX_TAGS)
  const refs = tags.map(({ ref }) => ref)
  const ask = refs.length === 0 ? undefined : () => page.connection.ask('tag messages', { refs })
  const key = tags.map(tag => (tag.kind === 'tag' ? `${tag.ref} ${tag.annotated}` : '')).join('\n')
  const asked = useServerValue(ask, [page, key], { delayMs: ASK_AFTER_MS, forgetsOnChange: true })
  return (
    <>
      <FailedLine problem={asked.problem.value} again={() => asked.refresh()} />
      {(asked.latest.value ?? []).map(({ ref, message, tagger, tagged }) => {
        const name = readable(ref.slice('refs/tags/'.length))
        return (
          <section key={ref} class="tag-message" aria-label={`Tag ${name}`}>
            <h3>
              <Icon name="tag" size="xs" />
              <bdi class="cut">{name}</bdi>
              <span class="meta cut" {...(tagged === undefined ? {} : timeTitle(tagged))}>
                {[
                  ...(tagger === undefined ? [] : [withoutTricks(tagger)]),
                  ...(tagged === undefined ? [] : [ago(tagged)]),
                ].join(', ')}
              </span>
            </h3>
            <MessageBody text={message} />
          </section>
        )
      })}
    </>
  )
}
