/** The state of the language server of a file, on one quiet line. */
import type { OpenFile } from '../editor/open-file.ts'
import { type Tab, usePage } from '../page/state.ts'
import { Button } from '../ui/words.tsx'
import { approvePreparing, languageActions, restartServer, switchServers } from './language-actions.ts'

/** What a language server does for the file, or why none does. Nothing where there is none for such files. */
export function LanguageLine({ tab, file }: { tab: Tab; file: OpenFile }) {
  const page = usePage()
  const state = file.language.value
  if (!state || tab.at.kind !== 'branch') return null
  const { branch } = tab.at
  const about = { page, tab, path: file.path }
  switch (state.is) {
    case 'off':
      return (
        <Button
          look="small offer"
          words="Turn on language servers"
          title={`${state.program} in the locked container: problems, completion, rename. For this repository.`}
          onClick={() => switchServers(page, true)}
        />
      )
    case 'missing':
    case 'starting':
      return (
        <span class="meta cut" title={state.words}>
          {state.is === 'starting' ? `${state.program}: ${state.words}` : state.words}
        </span>
      )
    case 'ended':
      return (
        <>
          <span class="meta cut" title={state.words}>
            {state.program} has ended. {state.words}
          </span>
          <Button look="small" words="Restart" onClick={() => restartServer(about)} />
        </>
      )
    case 'idle':
      return null
    case 'ready':
      return (
        <>
          {state.words === undefined ? null : (
            <span class="meta cut" title={state.words}>
              {state.words}
            </span>
          )}
          {state.commands.length === 0 ? null : (
            <Button
              look="small"
              words="Prepare…"
              title={`FORGE.md prepares the files by ${state.commands.join(', ')}: approve it to have what they need`}
              onClick={() => approvePreparing(page, branch, [...state.commands])}
            />
          )}
          <ProblemCount file={file} onClick={() => languageActions.problems.run(about)} />
        </>
      )
  }
}

function ProblemCount({ file, onClick }: { file: OpenFile; onClick: () => void }) {
  const { errors, warnings } = file.problemCounts.value
  if (errors + warnings === 0) return null
  const words = [
    ...(errors > 0 ? [`${errors} error${errors === 1 ? '' : 's'}`] : []),
    ...(warnings > 0 ? [`${warnings} warning${warnings === 1 ? '' : 's'}`] : []),
  ].join(', ')
  return <Button look="small" words={words} title="Problems in the branch’s files" onClick={onClick} />
}
