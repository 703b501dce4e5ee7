import { describe, expect, test } from 'vitest'
import { checkBodyType } from '../../src/hosts/body-type.js'
import { headersOf } from '../helpers/headers-of.js'

describe('the content type of a request', () => {
  test.each([
    undefined,
    '',
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; Charset = utf8 ; x=y',
    'application/json;',
    'application/vnd.api+json',
    'application/problem+json; charset=utf-8',
  ])('%j is read', (type) => {
    expect(() =>
      checkBodyType(headersOf(type === undefined ? {} : { 'content-type': type }), false),
    ).not.toThrow()
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'application/jsonp',
    'application/json-seq',
    'application/+json',
    'json',
    '+json',
    'application/json, text/plain',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json; charset="utf-8',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=',
    `${'+json/'.repeat(2_000)}x`,
  ])('%j is refused with 415', (type) => {
    expect(() => checkBodyType(headersOf({ 'content-type': type }), false)).toThrow(
      expect.objectContaining({ code: 'unsupported_media_type', status: 415 }),
    )
  })
})

describe('the content encoding of a request', () => {
  test.each(['gzip', 'br', 'identity', 'zstd, gzip'])('%j is refused with 415', (encoding) => {
    expect(() => checkBodyType(headersOf({ 'content-encoding': encoding }), false)).toThrow(
      expect.objectContaining({ code: 'unsupported_media_type' }),
    )
  })

  test('is ignored if the host has decompressed the body', () => {
    expect(() => checkBodyType(headersOf({ 'content-encoding': 'gzip' }), true)).not.toThrow()
  })

  test('does not excuse the content type if the host has decompressed the body', () => {
    expect(() => checkBodyType(headersOf({ 'content-type': 'text/plain' }), true)).toThrow(
      expect.objectContaining({ code: 'unsupported_media_type' }),
    )
  })
})
