/** The Tasks tab. Its code is a part of its own, loaded when the tab is shown first. */
import { latePart } from '../ui/late-part.ts'

const part = latePart(
  async () => (await import('../tasks/tasks.tsx')).TasksView,
  ({ notices }) => (
    <main class="tasks none">
      <section class="middle" aria-label="Run">
        {notices}
      </section>
    </main>
  ),
)

export const TasksTab = part.View

/** Whether the code of the tab is loaded, or can't be. */
export const isTasksTabSettled = part.isSettled
