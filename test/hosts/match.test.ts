import { describe, expect, test } from 'vitest'
import { extraVersion, PathTable, pathOf, pathUnder, withoutTrailingSlashes } from '../../src/hosts/match.js'
import { testEndpoints } from '../http/fixture.js'

describe('the path of a request target', () => {
  test.each([
    ['/models', '/models'],
    ['/models?a=1#b', '/models'],
    ['/models#b?a', '/models'],
    ['http://evil/models/a', '/models/a'],
    ['HTTPS://user@evil:1/models/a?b', '/models/a'],
    ['http://evil', '/'],
    ['http://evil?x', '/'],
    ['', '/'],
    ['?x', '/'],
    ['*', '*'],
    ['/http://evil/models', '/http://evil/models'],
    ['/models/%2E%2e/../a//b/', '/models/%2E%2e/../a//b/'],
    ['//models', '//models'],
  ])('%j is %j', (target, path) => {
    expect(pathOf(target)).toBe(path)
  })
})

describe('a base path', () => {
  test.each([
    ['/compat/v1/models', '/models'],
    ['/compat/v1/', '/'],
    ['/compat/v1', '/'],
    ['/compat/v10', undefined],
    ['/compat/v1x/models', undefined],
    ['/compat/V1/models', undefined],
    ['/compat', undefined],
    ['/other/compat/v1/models', undefined],
  ])('of /compat/v1 leaves of %j: %j', (path, rest) => {
    expect(pathUnder('/compat/v1', path)).toBe(rest)
  })

  test('loses its trailing slashes', () => {
    expect(withoutTrailingSlashes('/compat/v1//')).toBe('/compat/v1')
    expect(withoutTrailingSlashes('/')).toBe('')
    expect(withoutTrailingSlashes('')).toBe('')
  })
})

describe('the endpoint of a path', () => {
  const none = async (): Promise<void> => undefined
  const table = new PathTable(
    testEndpoints({
      chatCompletions: none,
      listModels: none,
      getModel: none,
      envelopeKeys: none,
      openapi: none,
    }),
  )

  test.each([
    ['/chat/completions', '/chat/completions', ''],
    ['/chat/completions/', '/chat/completions', ''],
    ['/models', '/models', ''],
    ['/models/', '/models', ''],
    ['/envelope-keys', '/envelope-keys', ''],
    ['/envelope-keys/', '/envelope-keys', ''],
    ['/openapi.json', '/openapi.json', ''],
    ['/openapi.json/', '/openapi.json', ''],
    ['/models/a', '/models/{model_key}', 'a'],
    ['/models/a/', '/models/{model_key}', 'a/'],
    ['/models/acme/fast', '/models/{model_key}', 'acme/fast'],
    ['/models/acme%2Ffast', '/models/{model_key}', 'acme%2Ffast'],
    ['/models/../models', '/models/{model_key}', '../models'],
    ['/models//', '/models', ''],
    ['//models', '/models', ''],
    ['////chat//completions', '/chat/completions', ''],
    ['/chat/completions//', '/chat/completions', ''],
    ['//openapi.json', '/openapi.json', ''],
    ['///models/acme//fast/', '/models/{model_key}', 'acme//fast/'],
    ['/models//acme', '/models/{model_key}', '/acme'],
    ['//models///acme', '/models/{model_key}', '//acme'],
    ['/models/%', '/models/{model_key}', '%'],
    ['/models/ACME', '/models/{model_key}', 'ACME'],
  ])('of %j is %j with the parameter %j', (path, found, parameter) => {
    expect(table.find(path)).toEqual({ endpoints: [expect.objectContaining({ path: found })], parameter })
  })

  test.each([
    '/',
    '*',
    '/Models',
    '//',
    '/models2',
    '//models2',
    '/chat',
    '/mod//els',
    '/chat/completions/x',
    '/v1/models',
    '/constructor',
    '/openapi.json/x',
  ])('of %j does not exist', (path) => {
    expect(table.find(path)).toBeUndefined()
  })

  test.each([
    ['/v1/models', '/v1'],
    ['/v1/models/', '/v1'],
    ['/a/b/chat/completions', '/a/b'],
    ['//v1//chat/completions//', '/v1'],
    ['/models', undefined],
    ['/v1/models/x', undefined],
    ['/v1/embeddings', undefined],
    [`/${'x'.repeat(100)}/models`, undefined],
  ])('is found behind a mount that was not stripped: %j has %j', (path, mount) => {
    expect(table.mountOf(path)).toBe(mount)
  })

  test.each([
    ['/v1/chat/completions', true],
    ['/v1/chat/completions/', true],
    ['//v1//chat//completions', true],
    ['/v1/models', true],
    ['/v1/models/acme/fast', true],
    ['/v1', false],
    ['/v1/', false],
    ['/v1/completions', false],
    ['/v1/v1/models', false],
    ['/v2/models', false],
    ['/v1models', false],
    ['/a/v1/models', false],
    ['/models/v1/models', false],
  ])('is found behind an extra /v1: %j is %s', (path, expected) => {
    expect(table.hasExtraVersion(path)).toBe(expected)
  })
})

describe('the answer to a path with an extra /v1', () => {
  test.each([
    ['/compat/v1/v1/models', '/v1/models', 'the one that ends with /compat/v1, without another /v1 after it'],
    ['/compat//v1/models', '//v1/models', 'the one that ends with /compat, without another /v1 after it'],
    ['/v1/models', '/v1/models', 'the address of this API, without /v1 at its end'],
    [
      '/compat/v1//v1/models',
      '/v1/models',
      'the one that ends with /compat/v1, without another /v1 after it',
    ],
    ['/elsewhere', '/v1/models', 'the address of this API, without /v1 at its end'],
    [`/${'x'.repeat(100)}/v1/models`, '/v1/models', 'the address of this API, without /v1 at its end'],
  ])('says which base URL to use: %j', (whole, path, expected) => {
    expect(extraVersion(whole, path)).toMatchObject({
      code: 'not_found',
      message: `There is no /v1 under this API. Set the base URL of your client to ${expected}.`,
    })
  })
})
