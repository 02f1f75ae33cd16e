/** Replacements in the case of what they replace. */
import { expect, test } from 'bun:test'
import { withCaseOf } from '../../../../forge/desk/web/ui/letter-case.ts'

test.each([
  ['lease', 'Box', 'box'],
  ['LEASE', 'box', 'BOX'],
  ['Lease', 'boxOfTen', 'BoxOfTen'],
  ['leaseTime', 'BoxOfTen', 'boxOfTen'],
  ['12', 'Box', 'Box'],
  ['1aB', 'Box', 'Box'],
  ['Lease', '', ''],
  ['LEASE-Time', 'box-of', 'BOX-Of'],
  ['LEASE_time', 'Box_Of', 'BOX_of'],
  ['Lease-time', 'boxOf', 'BoxOf'],
  ['', 'Box', 'Box'],
])('%j replaced by %j is %j', (match, replacement, replaced) => {
  expect(withCaseOf(match, replacement)).toBe(replaced)
})
