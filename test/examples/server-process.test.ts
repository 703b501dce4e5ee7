import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { sqliteStores } from 'compat-router/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../helpers/postgres.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { curlsOf, greeting, paste, run, runAsNpmStart, stopped } from './server-program.js'

let place: TestFile

beforeEach(async () => {
  place = await createTestFile()
})

afterEach(() => place.remove())

const KEY_PATTERN = /^Demo API key +(sk-[\w-]+) /m

/** Converts credits to an integer of 10⁻⁹ credit. */
function nano(decimal: string): bigint {
  const [whole, fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(9, '0'))
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

function balanceOf(text: string): bigint {
  return nano(/^Demo API key .*balance ([\d.]+) credits\)/m.exec(text)![1]!)
}

describe('npm start', { timeout: 120_000 }, () => {
  it('prints keys and curl commands that work as printed, and closes on a signal', async () => {
    const server = runAsNpmStart({ PORT: '0', COMPAT_ROUTER_FILE: place.file })
    const text = await greeting(server)
    expect(text).toMatch(/Base URL +http:\/\/127\.0\.0\.1:\d+\/compat\/v1\n/)
    expect(text).toMatch(/Demo API key +sk-[\w-]+ +\(alice pays, balance 5 credits\)/)
    expect(text).toMatch(/Demo access token +at-[\w-]+ +\(bob pays, balance 5 credits/)
    expect(text).toContain('they are not shown again')

    const [json, stream] = curlsOf(text)
    const reply = JSON.parse(await paste(json!)) as { usage: { cost: number } }
    expect(reply.usage.cost).toBeGreaterThan(0)
    const events = (await paste(stream!)).trim().split('\n\n')
    expect(events.at(-1)).toBe('data: [DONE]')
    expect(JSON.parse(events.at(-2)!.slice('data: '.length))).toMatchObject({
      choices: [],
      usage: reply.usage,
    })

    expect(await stopped(server, 'SIGTERM')).toEqual([0, null])
    expect(server.said.stderr).toBe('')
  })

  it('serves neither the login of Connect nor metrics to other machines if it listens for them', async () => {
    const server = await run({ PORT: '0', HOST: '0.0.0.0', COMPAT_ROUTER_FILE: place.file })
    const text = await greeting(server)
    const { origin, port } = new URL(/Base URL +(\S+)/.exec(text)![1]!)
    expect(text).not.toContain('Demo app')
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.family === 'IPv4' && !address.internal)
    const addresses = [origin, ...(outside === undefined ? [] : [`http://${outside.address}:${port}`])]
    for (const address of addresses) {
      const signIn = await fetch(`${address}/login`, { method: 'POST', redirect: 'manual' })
      expect([signIn.status, signIn.headers.has('set-cookie')]).toEqual([404, false])
      for (const path of ['/connect/authorize?client_id=notes', '/metrics']) {
        expect([path, (await fetch(address + path)).status]).toEqual([path, 404])
      }
    }
    const metrics = new URL(/Metrics +(\S+)/.exec(text)![1]!)
    expect(metrics.hostname).toBe('127.0.0.1')
    expect((await fetch(metrics)).status).toBe(200)
    if (outside !== undefined) {
      await expect(fetch(`http://${outside.address}:${metrics.port}/metrics`)).rejects.toThrow('fetch failed')
    }
    await stopped(server, 'SIGTERM')
  })

  it('first prints a link that opens the console once, and never shows its secret again', async () => {
    const server = await run({ PORT: '0', COMPAT_ROUTER_FILE: place.file })
    const text = await greeting(server)
    const [, link] = /^\nConsole +(\S+)\n +works once, within an hour; npm start prints a new link\n/.exec(
      text,
    )!
    const { origin, hash } = new URL(link!)
    const signIn = () =>
      fetch(`${origin}/sign-in`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: JSON.stringify({ secret: hash.slice(1) }),
      })
    expect((await fetch(link!)).headers.get('content-type')).toContain('text/html')
    const cookie = (await signIn()).headers.getSetCookie()[0]!
    expect(cookie).toMatch(/^[^;]+; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
    const used = await signIn()
    expect([used.status, await used.json()]).toEqual([
      403,
      { error: { message: expect.stringContaining('start it again with npm start. It prints a new link') } },
    ])

    const ask = async (path: string) =>
      (await fetch(`${origin}/api/${path}`, { headers: { cookie: cookie.split(';')[0]! } })).json()
    expect(await ask('me')).toMatchObject({ viewer: { kind: 'operator' }, routerPath: '/compat/v1' })
    expect(await ask('models')).toMatchObject({ models: [{ id: 'demo/small' }, { id: 'demo/large' }] })
    expect(await ask('routes')).toMatchObject({
      routes: [
        { model: 'demo/large', secretKeyId: expect.any(String) },
        { model: 'demo/small', secretKeyId: expect.any(String) },
      ],
    })
    await paste(curlsOf(text)[0]!)
    expect(await ask('entries?account=alice&limit=1')).toMatchObject({
      entries: [{ kind: 'charge', explanation: { outcome: 'completed' } }],
    })
    expect(await ask('reports/spend?by=model')).toMatchObject({
      total: { calls: 1 },
      books: { isEqual: true },
    })
    await stopped(server, 'SIGTERM')
    expect(server.said.stdout.split(hash.slice(1))).toHaveLength(2)
    expect(server.said.stderr).toBe('')
  })

  describe.each(['SQLite', 'PostgreSQL'])('on %s', (engine) => {
    it('keeps balances and keys after kill -9, and prints which database it uses', async () => {
      const folder = join(dirname(place.file), '.data')
      const file = join(folder, 'credits.db')
      const database = engine === 'SQLite' ? undefined : await createTestDatabase()
      try {
        const env = {
          PORT: '0',
          ...(database === undefined
            ? { COMPAT_ROUTER_FILE: file }
            : { DATABASE_URL: database.url, COMPAT_ROUTER_SECRET_KEYS: `test:${'1'.repeat(64)}` }),
        }
        const first = await run(env)
        const text = await greeting(first)
        expect(text).toMatch(
          database === undefined
            ? /^Stores +SQLite file .*\.data\/credits\.db$/m
            : /^Stores +PostgreSQL .*\/compat_test_\w+, schema compat_router$/m,
        )
        if (database === undefined) expect([modeOf(folder), modeOf(file)]).toEqual(['700', '600'])
        const key = KEY_PATTERN.exec(text)![1]!
        const { usage } = JSON.parse(await paste(curlsOf(text)[0]!)) as { usage: { cost: number } }
        expect(await stopped(first, 'SIGKILL')).toEqual([null, 'SIGKILL'])

        const second = await run(env)
        const again = await greeting(second)
        expect(balanceOf(again)).toBe(nano('5') - nano(usage.cost.toFixed(9)))
        expect(again).not.toContain(key)
        expect(again).toContain(`${key.slice(0, 10)}…${key.slice(-4)}, shown when it was created`)
        expect(again).toContain('npm start -- --new-keys')
        const reply = JSON.parse(await paste(curlsOf(again)[0]!, { KEY: key })) as { usage: unknown }
        expect(reply.usage).toEqual(usage)
        await stopped(second, 'SIGTERM')

        const third = await run(env, ['--new-keys'])
        const renewed = KEY_PATTERN.exec(await greeting(third))![1]!
        expect(renewed).not.toBe(key)
        const [curl] = curlsOf(third.said.stdout)
        expect(JSON.parse(await paste(curl!))).toMatchObject({ usage })
        expect(JSON.parse(await paste(curl!.replace(renewed, key)))).toMatchObject({
          error: { code: 'revoked_credential' },
        })
        await stopped(third, 'SIGTERM')
      } finally {
        await database?.drop()
      }
    })
  })

  it('npm start shows no key if it cannot listen, and does not change the keys', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { child, said: output } = await run({ PORT: String(port), COMPAT_ROUTER_FILE: place.file }, [
      '--new-keys',
    ])
    expect(await once(child, 'close')).toEqual([1, null])
    expect(output.stderr).toContain(`Another program already listens on port ${port} of 127.0.0.1`)
    expect(output.stderr).not.toContain('    at ')
    expect(output.stdout).toBe('')
    await new Promise((done) => other.close(done))
    const stores = sqliteStores({ file: place.file })
    const rows = await stores.database.all({ text: 'select count(*) as rows from {credentials}' })
    await stores.close()
    expect(rows).toEqual([{ rows: 0n }])
  })

  it('npm start names the setting that is wrong', async () => {
    const { child, said: output } = await run({ PORT: 'http' })
    expect(await once(child, 'close')).toEqual([1, null])
    expect(output.stderr).toBe('PORT must be a number from 0 to 65535, such as 3000; got "http".\n')
  })

  it('npm start explains what to do about a file that is not a database', async () => {
    writeFileSync(place.file, 'Nothing that SQLite could read. '.repeat(200))
    const { child, said: output } = await run({ PORT: '0', COMPAT_ROUTER_FILE: place.file })
    expect(await once(child, 'close')).toEqual([1, null])
    expect(output.stderr).toBe(
      `${place.file} is not an SQLite database, or is damaged. Restore a backup, move the file away to start afresh, or name another file in COMPAT_ROUTER_FILE.\n`,
    )
    expect(output.stdout).toBe('')
  })
})
