/** A commit message as the two fields that it is written in. */

/** The subject is the first line; the body begins after the empty line. */
export interface MessageParts {
  subject: string
  body: string
}

/** Longer subjects, in characters, are cut by git's tools. */
export const MAX_SUBJECT_CHARS = 72

export function partsOf(message: string): MessageParts {
  const [subject = '', rest = ''] = message.split(/\n(.*)/s)
  return { subject, body: rest.replace(/^\n/, '') }
}

export const messageOf = ({ subject, body }: MessageParts): string => (body === '' ? subject : `${subject}\n\n${body}`)
