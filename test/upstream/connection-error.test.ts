import { describe, expect, it } from 'vitest'
import { connectionError } from '../../src/upstream/connection-error.js'

const withCode = (code: string) => Object.assign(new Error(code), { code })

describe('the failure for an error of the connection', () => {
  it('distinguishes a call that was never sent from one that was', () => {
    expect(connectionError(withCode('ECONNREFUSED'), false).reason).toBe('unreachable')
    expect(connectionError(withCode('ENOTFOUND'), false).reason).toBe('unreachable')
    expect(connectionError(withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), false).reason).toBe('unreachable')
    expect(connectionError(withCode('UND_ERR_CONNECT_TIMEOUT'), false).reason).toBe('timeout')
    expect(connectionError(withCode('ETIMEDOUT'), false).reason).toBe('timeout')
    expect(connectionError(withCode('ECONNRESET'), true).reason).toBe('cut-short')
    expect(connectionError(withCode('ETIMEDOUT'), true).reason).toBe('cut-short')
    expect(connectionError(undefined, true).reason).toBe('cut-short')
  })

  it('knows the words of every runtime for a connection that was never opened, although fetch tells no more', () => {
    expect(connectionError(withCode('ECONNREFUSED'), true).reason).toBe('unreachable')
    expect(connectionError(withCode('ConnectionRefused'), true).reason).toBe('unreachable')
    expect(connectionError(withCode('ERR_SSL_WRONG_VERSION_NUMBER'), true).reason).toBe('unreachable')
    expect(connectionError(withCode('CERT_HAS_EXPIRED'), true).reason).toBe('unreachable')
    const inDeno = 'error sending request for url (http://x/): client error (Connect): tcp connect error'
    expect(connectionError(new TypeError(inDeno), true).reason).toBe('unreachable')
    expect(connectionError(withCode('UND_ERR_CONNECT_TIMEOUT'), true).reason).toBe('timeout')
  })

  it('knows that the provider had the request once its reply has begun', () => {
    for (const code of ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'ECONNREFUSED', 'EHOSTUNREACH'])
      expect(connectionError(withCode(code), true, true).reason).toBe('cut-short')
  })

  it('distinguishes invalid HTTP from a reply that ended too early', () => {
    const parserError = (message: string) => Object.assign(new Error(message), { name: 'HTTPParserError' })
    expect(connectionError(parserError('Expected HTTP/'), true).reason).toBe('invalid-response')
    expect(connectionError(parserError('Invalid EOF state'), true).reason).toBe('cut-short')
    expect(connectionError(withCode('UND_ERR_HEADERS_OVERFLOW'), true).reason).toBe('invalid-response')
  })
})
