// The networks of this machine that the container is told to reject.
import { expect, test } from 'bun:test'
import type { NetworkInterfaceInfo } from 'node:os'
import { networksOf } from '../../forklift/runs.ts'

test('the networks that the host is in are rejected, and never the internet', () => {
  const of = (family: 'IPv4' | 'IPv6', cidr: string | null, address = cidr?.split('/')[0] ?? '') =>
    ({ family, cidr, address, internal: false }) as NetworkInterfaceInfo
  const interfaces = {
    lo: [of('IPv4', '127.0.0.1/8'), of('IPv6', '::1/128'), of('IPv4', '198.51.100.7/32')],
    eth0: [of('IPv4', '203.0.113.5/24'), of('IPv6', '2001:db8::5/64'), of('IPv6', 'fe80::5/64')],
    tun0: [of('IPv4', '192.0.2.9/32'), of('IPv4', '10.8.0.2/0'), of('IPv6', '2001:db8:1::2/3')],
    wide: [of('IPv4', '17.1.2.3/8'), of('IPv4', '17.1.2.4/7'), of('IPv6', '2001:db8:2::1/16')],
    odd: [of('IPv4', null, '192.0.2.77')],
    again: [of('IPv6', 'fe80::5/64')],
  }
  expect(networksOf(interfaces)).toEqual([
    ...['198.51.100.7/32', '203.0.113.5/24', '2001:db8::5/64', 'fe80::5/64', '192.0.2.9/32', '10.8.0.2/32'],
    ...['2001:db8:1::2/128', '17.1.2.3/8', '17.1.2.4/32', '2001:db8:2::1/16', '192.0.2.77/32'],
  ])
})
