/** Schemas that several formats share. */
import * as v from 'valibot'

/** An object id: 40 or 64 hex digits. */
export const Oid = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
export const Count = v.pipe(v.number(), v.integer(), v.minValue(0))
