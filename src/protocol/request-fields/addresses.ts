import { BlockList, type IPVersion, isIP } from 'node:net'
import type { Member } from './reading.js'

/** Names that no public server has: with a reserved last label, or with a single label. */
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|lan|home|corp|intranet|arpa)\.?$|^[^.]*\.?$/
const DATA = /^data:/i
const HTTPS = /^https:\/\//i
const ANY_SCHEME = /^\s*[a-z][a-z0-9+.-]*:/i

/** IANA's special-purpose address ranges that are not on the public internet. */
const NOT_PUBLIC = {
  ipv4: ranges(
    'ipv4',
    `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`,
  ),
  // Everything outside the global unicast range. Inside it, documentation and tunnels that carry any IPv4 address.
  ipv6: ranges('ipv6', '::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20'),
} as const

/** Each family has its own list, because a list with IPv6 ranges makes Node check an IPv4 address in its mapped form. */
function ranges(family: IPVersion, all: string): BlockList {
  const list = new BlockList()
  for (const range of all.split(/\s+/)) {
    const [network, bits] = range.split('/') as [string, string]
    list.addSubnet(network, Number(bits), family)
  }
  return list
}

/** Whether an `https:` address seems to name a host on the public internet. Does not resolve the name. */
function isPublicAddress(address: string): boolean {
  if (!HTTPS.test(address) || !URL.canParse(address)) return false
  const url = new URL(address)
  if (url.username !== '' || url.password !== '') return false
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  if (family === 0) return !LOCAL_NAME.test(host)
  const version = family === 4 ? 'ipv4' : 'ipv6'
  return !NOT_PUBLIC[version].check(host, version)
}

const RULE = 'must be a data: address, or an https: address of a public host without credentials'

/** Whether a value is the address of media that a provider may open. */
export function isAddress(value: unknown): boolean {
  return typeof value === 'string' && (DATA.test(value) || isPublicAddress(value))
}

/** The address of media. The provider opens it, never this process. */
export const address: Member = (value, place, { faults }) => {
  if (!isAddress(value)) faults.add(place, RULE)
  return value
}

const NOT_BASE64 = /[^a-z0-9+/=_\s-]/i

/** Bytes in base64 that are not an address. */
const base64: Member = (value, place, { faults }) => {
  if (typeof value !== 'string' || NOT_BASE64.test(value)) faults.add(place, 'must be base64')
  return value
}

/** The bytes of a file: plain base64, or an {@link address}. */
export const fileData: Member = (value, place, reading) => {
  if (typeof value !== 'string') reading.faults.add(place, 'must be a string')
  else if (ANY_SCHEME.test(value.slice(0, 64))) return address(value, place, reading)
  else base64(value, place, reading)
  return value
}
