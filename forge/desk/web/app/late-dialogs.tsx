/** The dialogs that are opened rarely: a part of the page of its own. */
import type { DialogContent } from '../page/dialog-content.ts'
import { LessonsDialog } from '../tasks/lessons-dialog.tsx'
import { LimitsDialog } from '../tasks/limits-dialog.tsx'
import { KeyList } from './key-list.tsx'
import { OperationsDialog } from './operations.tsx'
import { SettingsDialog } from './settings-dialog.tsx'

export type LateContent = Extract<DialogContent, { kind: 'operations' | 'keys' | 'lessons' | 'limits' | 'settings' }>

export function LateDialog({ content, close }: { content: LateContent; close: () => void }) {
  switch (content.kind) {
    case 'operations':
      return <OperationsDialog close={close} />
    case 'lessons':
      return <LessonsDialog close={close} />
    case 'limits':
      return <LimitsDialog key={content.title} content={content} close={close} />
    case 'keys':
      return <KeyList close={close} />
    case 'settings':
      return <SettingsDialog close={close} />
  }
}
