import { describe, expect, test } from 'vitest'
import { matchRoute, normaliseBasePath, pathOf, pathUnder } from '../../src/http/match.js'

describe('the path of a target', () => {
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
    expect(normaliseBasePath('/compat/v1//')).toBe('/compat/v1')
    expect(normaliseBasePath('/')).toBe('')
    expect(normaliseBasePath('')).toBe('')
  })

  test.each(['compat/v1', '/a?b', '/a#b', '/a b', 'http://a/b'])('%j is refused by name', (basePath) => {
    expect(() => normaliseBasePath(basePath)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining('basePath') }),
    )
  })
})

describe('a route', () => {
  test.each([
    ['/chat/completions', 'chatCompletions', ''],
    ['/chat/completions/', 'chatCompletions', ''],
    ['/models', 'listModels', ''],
    ['/models/', 'listModels', ''],
    ['/envelope-keys', 'envelopeKeys', ''],
    ['/envelope-keys/', 'envelopeKeys', ''],
    ['/openapi.json', 'openapi', ''],
    ['/openapi.json/', 'openapi', ''],
    ['/models/a', 'getModel', 'a'],
    ['/models/a/', 'getModel', 'a/'],
    ['/models/acme/fast', 'getModel', 'acme/fast'],
    ['/models/acme%2Ffast', 'getModel', 'acme%2Ffast'],
    ['/models/../models', 'getModel', '../models'],
    ['/models//', 'getModel', '/'],
    ['/models/%', 'getModel', '%'],
    ['/models/ACME', 'getModel', 'ACME'],
  ])('stands at %j', (path, route, key) => {
    expect(matchRoute(path)).toEqual({ route, key })
  })

  test.each([
    '/',
    '*',
    '/Models',
    '//models',
    '/models2',
    '/chat',
    '/chat/completions//',
    '/chat/completions/x',
    '/v1/models',
    '/constructor',
    '/openapi.json/x',
  ])('does not stand at %j', (path) => {
    expect(matchRoute(path)).toBeUndefined()
  })
})
