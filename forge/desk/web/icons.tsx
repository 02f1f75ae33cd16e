/** The icons, in the two sizes of the desk. They are decoration: the words beside them say what they mean. */
import {
  ArrowDown,
  Bot,
  Check,
  ChevronDown,
  ChevronRight,
  CircleAlert,
  CircleDashed,
  CircleDot,
  CircleQuestionMark,
  ClockArrowLeft,
  Columns2,
  Copy,
  Cpu,
  Ellipsis,
  FileDiff,
  FilePlus,
  FileText,
  FolderPlus,
  GitBranch,
  GitCommitHorizontal,
  GitCompare,
  GitGraph,
  Hourglass,
  KeyRound,
  List,
  LoaderCircle,
  type LucideIcon,
  MessageSquare,
  PanelRight,
  Pencil,
  Pilcrow,
  Plus,
  Redo2,
  Search,
  ShieldAlert,
  Sprout,
  Square,
  TextWrap,
  Trash2,
  TriangleAlert,
  Undo2,
  UnfoldVertical,
  User,
  X,
} from 'lucide-preact'

const ICONS = {
  arc: LoaderCircle,
  'arrow-down': ArrowDown,
  bot: Bot,
  branch: GitBranch,
  check: Check,
  'chevron-down': ChevronDown,
  'chevron-right': ChevronRight,
  alert: CircleAlert,
  clash: CircleDot,
  clock: ClockArrowLeft,
  columns: Columns2,
  commit: GitCommitHorizontal,
  compare: GitCompare,
  copy: Copy,
  cpu: Cpu,
  dashed: CircleDashed,
  diff: FileDiff,
  file: FileText,
  'new-file': FilePlus,
  'new-folder': FolderPlus,
  graph: GitGraph,
  hourglass: Hourglass,
  key: KeyRound,
  list: List,
  more: Ellipsis,
  chat: MessageSquare,
  pencil: Pencil,
  pilcrow: Pilcrow,
  panel: PanelRight,
  plus: Plus,
  question: CircleQuestionMark,
  redo: Redo2,
  search: Search,
  shield: ShieldAlert,
  sprout: Sprout,
  stop: Square,
  wrap: TextWrap,
  trash: Trash2,
  warning: TriangleAlert,
  undo: Undo2,
  unfold: UnfoldVertical,
  user: User,
  x: X,
} satisfies Record<string, LucideIcon>

export type IconName = keyof typeof ICONS

export interface IconProps {
  name: IconName
  size?: 'm' | 's' | 'xs'
  /** What its colour means: by-ai, is-warn… */
  tone?: string | undefined
}

export function Icon({ name, size = 's', tone = '' }: IconProps) {
  const Shape = ICONS[name]
  return <Shape class={`i ${size} ${tone}`} aria-hidden="true" />
}

/** A robot where an AI has a conversation, a leaf where not. */
export function BranchIcon({ hasSession }: { hasSession: boolean }) {
  return hasSession ? <Icon name="bot" tone="by-ai" /> : <Icon name="sprout" />
}
