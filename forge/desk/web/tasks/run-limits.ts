/** The limits of a run that can be changed: their labels, what is used so far, and what can be typed for each. */
import type { RaisableLimit, Run } from '../../contract/tasks.ts'

interface Limit {
  /** The label in a list of all limits; `label`: alone. */
  short: string
  label: string
  /** The use so far, as a sentence. */
  taken: (run: Run) => string
  isGood: RegExp
  /** What to write instead of something that is no limit. */
  wrong: string
}

export const LIMITS: Record<RaisableLimit, Limit> = {
  cost: {
    short: 'Budget in dollars',
    label: 'New budget of the whole run, in dollars',
    taken: ({ spent }) => `$${spent.cost.toFixed(2)} is spent already and counts.`,
    isGood: /^\$?\d{1,6}(\.\d{1,2})?$/,
    wrong: 'Write an amount in dollars, such as 7.50.',
  },
  requests: {
    short: 'Requests',
    label: 'New limit of requests of the whole run',
    taken: ({ spent }) => `${spent.requests} were sent already and count.`,
    isGood: /^\d{1,9}$/,
    wrong: 'Write a whole number, such as 300.',
  },
  minutes: {
    short: 'Minutes',
    label: 'New limit of minutes of the whole run',
    taken: () => 'Minutes already worked count; waiting for you does not.',
    isGood: /^\d{1,9}$/,
    wrong: 'Write a whole number, such as 90.',
  },
}
