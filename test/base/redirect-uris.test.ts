import { describe, expect, it } from 'vitest'
import {
  isLoopbackRedirect,
  matchesRedirectUri,
  parseRedirectUri,
  redirectUriFault,
} from '../../src/base/redirect-uris.js'

const ASKED: readonly (readonly [number, string, string, boolean, string])[] = [
  [1, 'https://notes.example/cb', 'https://notes.example/cb', true, 'equal'],
  [2, 'https://notes.example/cb', 'https://notes.example/cb/', false, 'path differs by a slash'],
  [3, 'https://notes.example/cb', 'https://notes.example/CB', false, 'paths keep case'],
  [4, 'https://notes.example/cb', 'https://notes.example/cb?x=1', false, 'query added'],
  [5, 'https://notes.example/cb?t=a', 'https://notes.example/cb?t=a', true, 'registered query, equal'],
  [6, 'https://notes.example/cb?t=a', 'https://notes.example/cb?t=b', false, 'query differs'],
  [7, 'https://notes.example/cb?t=a', 'https://notes.example/cb?t=a&t=b', false, 'parameter repeated'],
  [8, 'https://notes.example/cb', 'https://notes.example/cb?code=x', false, 'brings a code of its own'],
  [9, 'https://notes.example/cb', 'https://notes.example/cb#x', false, 'fragment'],
  [10, 'https://notes.example/cb', 'https://notes.example/cb#', false, 'empty fragment'],
  [11, 'https://notes.example/cb', 'http://notes.example/cb', false, 'http away from loopback'],
  [12, 'https://notes.example/cb', 'https://notes.example:8443/cb', false, 'other port'],
  [
    13,
    'https://notes.example/cb',
    'https://notes.example:443/cb',
    false,
    'default port spelt out: not the normal form',
  ],
  [14, 'https://notes.example/cb', 'https://NOTES.example/cb', false, 'not the normal form'],
  [15, 'https://notes.example/cb', 'https://notes.example./cb', false, 'trailing dot is another host'],
  [16, 'https://notes.example/cb', 'https://notes.example.evil.example/cb', false, 'suffix trick'],
  [17, 'https://notes.example/cb', 'https://notes.example@evil.example/cb', false, 'userinfo'],
  [18, 'https://notes.example/cb', 'https://x@notes.example/cb', false, 'userinfo, right host'],
  [19, 'https://notes.example/cb', 'https://notes.example\\@evil.example/cb', false, 'backslash'],
  [
    20,
    'https://notes.example/cb',
    'https:/notes.example/cb',
    false,
    'parses to the same, is not the normal form',
  ],
  [21, 'https://notes.example/cb', 'https://notes.example/x/../cb', false, 'dot segments'],
  [22, 'https://notes.example/cb', 'https://notes.example/%63b', false, 'percent-encoded letter'],
  [23, 'https://notes.example/cb', 'https://notes.example/cb%0d%0aSet-Cookie:x', false, 'header injection'],
  [
    24,
    'https://notes.example/cb',
    ' https://notes.example/cb',
    false,
    'leading space (URL parsers strip it)',
  ],
  [25, 'https://notes.example/cb', 'https://notes.example/c\tb', false, 'tab (URL parsers strip it)'],
  [26, 'https://notes.example', 'https://notes.example/', true, 'an empty path is "/" in both'],
  [27, 'http://127.0.0.1/cb', 'http://127.0.0.1:49152/cb', true, 'loopback, any port (RFC 8252 7.3)'],
  [28, 'http://127.0.0.1/cb', 'http://127.0.0.1/cb', true, 'loopback without a port'],
  [29, 'http://127.0.0.1:3000/cb', 'http://127.0.0.1:49152/cb', true, 'a registered port is ignored as well'],
  [30, 'http://127.0.0.1/cb', 'http://127.0.0.1:49152/other', false, 'loopback, other path'],
  [
    31,
    'http://127.0.0.1/cb',
    'http://localhost:49152/cb',
    false,
    'localhost is not 127.0.0.1: register both',
  ],
  [32, 'http://localhost/cb', 'http://localhost:49152/cb', true, 'localhost, any port'],
  [33, 'http://[::1]/cb', 'http://[::1]:49152/cb', true, 'IPv6 loopback, any port'],
  [
    34,
    'http://localhost/cb',
    'http://localhost:1@evil.example/cb',
    false,
    'port that is a password: host is evil.example',
  ],
  [35, 'http://localhost/cb', 'http://localhost.evil.example:80/cb', false, 'prefix trick'],
  [36, 'http://127.0.0.1/cb', 'https://127.0.0.1:49152/cb', false, 'loopback is http only'],
  [
    37,
    'http://127.0.0.1/cb',
    'http://127.1:49152/cb',
    false,
    'short form of the address: not the normal form',
  ],
  [38, 'http://127.0.0.1/cb', 'http://0.0.0.0:49152/cb', false, 'not loopback'],
  [
    39,
    'com.example.notes:/cb',
    'com.example.notes:/cb',
    false,
    'private-use scheme: not supported (https or loopback only)',
  ],
  [40, 'https://notes.example/cb', 'javascript:alert(1)//https://notes.example/cb', false, 'script'],
]

const REGISTERED: readonly (readonly [string, string, boolean])[] = [
  ['R1', 'http://notes.example/cb', false],
  ['R2', 'https://notes.example/*', false],
  ['R3', 'https://*.notes.example/cb', false],
  ['R4', 'https://notes.example/cb#x', false],
  ['R5', 'https://u:p@notes.example/cb', false],
  ['R6', 'https://10.0.0.1/cb', false],
  ['R7', 'https://localhost/cb', false],
  ['R8', 'https://notes.example/cb?code=1', false],
  ['R9', 'data:text/html,x', false],
  ['R10', 'https://bücher.example/cb', false],
  ['R11', 'https://xn--bcher-kva.example/cb', true],
  ['R12', 'http://localhost:3000/cb', true],
]

describe('a requested redirect URI', () => {
  it.each(ASKED)('row %i: %s for %s is accepted: %s (%s)', (_, registered, asked, isAccepted) => {
    expect(matchesRedirectUri(registered, asked)).toBe(isAccepted)
  })

  it('matches nothing if the registered one is not normalised', () => {
    expect(matchesRedirectUri('https://NOTES.example/cb', 'https://notes.example/cb')).toBe(false)
    expect(matchesRedirectUri('https://NOTES.example/cb', 'https://NOTES.example/cb')).toBe(false)
  })

  it('on loopback matches only with the same query', () => {
    expect(matchesRedirectUri('http://localhost/cb?t=a', 'http://localhost:5/cb?t=a')).toBe(true)
    expect(matchesRedirectUri('http://localhost/cb?t=a', 'http://localhost:5/cb')).toBe(false)
  })
})

describe('a redirect URI at registration', () => {
  it.each(REGISTERED)('%s: %s is accepted: %s', (_, uri, isAccepted) => {
    expect(redirectUriFault(uri) === undefined).toBe(isAccepted)
  })

  it.each(['code', 'state', 'iss', 'error', 'error_description', 'error_uri', 'response'])(
    'is refused with the parameter %s',
    (name) => {
      expect(redirectUriFault(`https://notes.example/cb?x=1&${name}=1`)).toContain(`query parameter ${name}`)
    },
  )

  it.each([
    'https://notes/cb',
    'https://[2001:db8::1]/cb',
    'https://notes.example./cb',
    'https://-notes.example/cb',
    'com.example.notes:/cb',
    'javascript:alert(1)',
    'https://@notes.example/cb',
    'https://notes.example:443/cb',
    'https://notes.example/a b',
    '',
    `https://notes.example/${'x'.repeat(2_000)}`,
  ])('%s is refused', (uri) => {
    expect(redirectUriFault(uri)).toEqual(expect.any(String))
  })

  it('is refused with a message that does not repeat the URI', () => {
    expect(redirectUriFault('https://user:secret@notes.example/cb')).not.toContain('secret')
  })
})

describe('a redirect URI', () => {
  it('counts as loopback only over http and on one of three hosts', () => {
    expect(isLoopbackRedirect('http://[::1]:5/cb')).toBe(true)
    expect(isLoopbackRedirect('https://notes.example/cb')).toBe(false)
    expect(isLoopbackRedirect('http://localhost.evil.example/cb')).toBe(false)
  })

  it('is parsed to the host to which the user will be sent', () => {
    expect(parseRedirectUri('https://xn--bcher-kva.example/cb')?.host).toBe('xn--bcher-kva.example')
  })
})
