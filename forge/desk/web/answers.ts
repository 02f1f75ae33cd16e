/** What the server answers to each question, as the page reads it. */
import * as v from 'valibot'
import { Conversation } from '../conversation.ts'
import { Change, Clash, CommitRow, Desk, File, FolderEntry, Layout, Operation, type Question } from '../messages.ts'
import { ConflictFile, Done, Forklift, GraphWindow, Merging, Outlook, Preview, Refs } from '../repository-view.ts'

const Nothing = v.unknown()
const Commit = v.object({ commit: v.string() })

export const answers = {
  desk: v.object({ desk: Desk, layout: v.optional(v.nullable(Layout)) }),
  'has missed': v.boolean(),
  'keep layout': Nothing,
  folder: v.array(FolderEntry),
  'find file': v.array(v.object({ path: v.string(), ranges: v.array(v.tuple([v.number(), v.number()])) })),
  open: File,
  close: Nothing,
  edit: v.object({ accepted: v.boolean() }),
  save: v.object({ commit: v.optional(v.nullable(v.string())) }),
  'save elsewhere': Commit,
  'drafts elsewhere': Nothing,
  discard: Nothing,
  message: v.object({ message: v.string() }),
  'new file': Commit,
  rename: Commit,
  delete: Commit,
  'new branch': Nothing,
  'rename branch': Nothing,
  'delete branch': Nothing,
  'name now': v.object({ branch: v.string() }),
  'restore branch': Nothing,
  changes: v.array(Change),
  blob: v.object({ text: v.optional(v.nullable(v.string())), encoding: v.optional(v.string()) }),
  history: v.object({ rows: v.array(CommitRow), total: v.optional(v.nullable(v.number())) }),
  commit: v.object({ row: CommitRow, message: v.string(), changes: v.array(Change) }),
  'find text': v.object({ search: v.number() }),
  'stop finding': Nothing,
  operations: v.array(Operation),
  undo: v.object({ words: v.string(), refs: v.array(v.string()) }),
  redo: v.object({ words: v.string(), refs: v.array(v.string()) }),
  clashes: v.array(Clash),
  settle: Nothing,
  conversation: Conversation,
  send: v.object({ turn: v.string() }),
  'stop turn': Nothing,
  'end turn': Nothing,
  'undo turn': v.object({ words: v.string(), refs: v.array(v.string()) }),
  'choose model': Nothing,
  'set context': Nothing,
  'approve tool': Nothing,
  'allow commands': Nothing,
  graph: GraphWindow,
  'graph place': v.object({ row: v.optional(v.nullable(v.number())) }),
  'find commits': v.object({ rows: v.array(v.object({ row: v.number(), oid: v.string() })), isCut: v.boolean() }),
  refs: Refs,
  outlooks: v.array(Outlook),
  preview: Preview,
  do: Done,
  'stop step': Nothing,
  'stop preview': Nothing,
  merging: v.nullable(Merging),
  conflict: ConflictFile,
  'take side': Nothing,
  'ask for conflicts': v.object({ turn: v.string() }),
  'finish merging': Done,
  'abort merging': Done,
  forklift: Forklift,
  'run forklift': Nothing,
  'stop forklift': Nothing,
  'open run': v.object({ branch: v.string() }),
  publish: Nothing,
  // Read where they are shown: the page begins without them.
  'look at tasks': v.unknown(),
  'tell tasks': v.object({ words: v.array(v.string()) }),
  'settle by side': Nothing,
} satisfies Record<Question['ask'], v.GenericSchema>

export type Answer<Kind extends Question['ask']> = v.InferOutput<(typeof answers)[Kind]>
export type QuestionOf<Kind extends Question['ask']> = Extract<Question, { ask: Kind }>
