import { describe, expect, it } from 'vitest'
import { readSettings, SettingsError } from '../../examples/server/settings.js'

const database = { kind: 'sqlite', file: '.data/compat-router.db' }

describe('readSettings of the example server', () => {
  it('listens on the loopback address and port 3000 by default', () => {
    expect(readSettings({})).toEqual({ host: '127.0.0.1', port: 3000, database, newKeys: false })
    const empty = { PORT: '', HOST: '', UPSTREAM_BASE_URL: '', DATABASE_URL: '', COMPAT_ROUTER_FILE: '' }
    expect(readSettings(empty)).toEqual(readSettings({}))
  })

  it('reads host, port and an upstream with its models', () => {
    expect(
      readSettings({
        HOST: '0.0.0.0',
        PORT: '8080',
        UPSTREAM_BASE_URL: 'https://api.example.com/v1/',
        UPSTREAM_API_KEY: 'sk-real',
        UPSTREAM_MODELS: 'acme/fast=gpt-4o-mini, acme/smart=ft:gpt-4o=x',
      }),
    ).toEqual({
      host: '0.0.0.0',
      port: 8080,
      database,
      newKeys: false,
      upstream: {
        baseUrl: 'https://api.example.com/v1',
        apiKey: 'sk-real',
        models: { 'acme/fast': 'gpt-4o-mini', 'acme/smart': 'ft:gpt-4o=x' },
      },
    })
  })

  it("reads the same variables for its database as the package's command line", () => {
    const url = 'postgresql://me@db.example.com/credits'
    expect(readSettings({ COMPAT_ROUTER_FILE: '/var/credits.db' }).database).toEqual({
      kind: 'sqlite',
      file: '/var/credits.db',
    })
    expect(readSettings({ DATABASE_URL: url, COMPAT_ROUTER_FILE: 'x.db' }).database).toEqual({
      kind: 'postgres',
      url,
    })
    expect(readSettings({ DATABASE_URL: url, COMPAT_ROUTER_SCHEMA: 'demo' }).database).toMatchObject({
      schema: 'demo',
    })
  })

  it('accepts one flag', () => {
    expect(readSettings({}, ['--new-keys']).newKeys).toBe(true)
    expect(() => readSettings({}, ['--new-key'])).toThrow('Unknown flag --new-key. The only one is')
  })

  const base = { UPSTREAM_BASE_URL: 'https://api.example.com/v1' }
  it.each([
    [{ PORT: 'http' }, 'PORT must be a number'],
    [{ PORT: '65536' }, 'PORT must be a number'],
    [{ PORT: '-1' }, 'PORT must be a number'],
    [{ DATABASE_URL: 'localhost' }, 'DATABASE_URL must be the URL of a PostgreSQL database'],
    [{ DATABASE_URL: 'mysql://localhost/db' }, 'DATABASE_URL must be the URL'],
    [{ UPSTREAM_API_KEY: 'sk-real' }, 'UPSTREAM_API_KEY is set, but UPSTREAM_BASE_URL is not'],
    [{ UPSTREAM_MODELS: 'a=b' }, 'UPSTREAM_MODELS is set, but UPSTREAM_BASE_URL is not'],
    [{ UPSTREAM_BASE_URL: 'api.example.com' }, 'must be an http or https URL'],
    [{ UPSTREAM_BASE_URL: 'ftp://api.example.com' }, 'must be an http or https URL'],
    [{ UPSTREAM_BASE_URL: 'https://user:pass@api.example.com/v1' }, 'must not contain credentials'],
    [{ UPSTREAM_BASE_URL: 'https://api.example.com/v1?key=1' }, 'must not contain credentials'],
    [{ ...base, UPSTREAM_MODELS: 'acme/fast' }, 'got "acme/fast"'],
    [{ ...base, UPSTREAM_MODELS: 'a=b,' }, 'must be a list of key=upstream-name pairs'],
    [{ ...base, UPSTREAM_MODELS: 'a=b,a=c' }, 'names the model "a" twice'],
  ])('refuses %j and says what to do', (env, message) => {
    expect(() => readSettings(env)).toThrow(SettingsError)
    expect(() => readSettings(env)).toThrow(message)
  })

  it('never repeats a credential in a message', () => {
    expect(() => readSettings({ UPSTREAM_BASE_URL: 'https://me:hunter2@api.example.com' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    )
    expect(() => readSettings({ DATABASE_URL: 'mysql://me:hunter2@db.example.com' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    )
  })
})
