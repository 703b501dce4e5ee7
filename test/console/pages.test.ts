import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { assetsFolder, createPages } from '../../src/console/assets.js'
import { createConsole } from '../../src/console/index.js'
import { adminWith } from '../helpers/admin-with.js'
import { hosts } from '../helpers/hosts.js'
import { listenHttp, MOUNT, type MountedHost } from '../helpers/listen-http.js'

let folder: string
let mounted: MountedHost | undefined

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'compat-router-pages-'))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><script type="module" src="./assets/a-1f.js"></script>',
  )
  writeFileSync(join(folder, 'assets', 'a-1f.js'), 'export {}')
  writeFileSync(join(folder, 'assets', 'a-1f.js.map'), '{}')
  writeFileSync(join(folder, 'secret.env'), 'KEY=1')
})

afterAll(() => rmSync(folder, { recursive: true }))

afterEach(async () => {
  await mounted?.close()
  mounted = undefined
})

async function serve(from: string) {
  const answer = createPages(from)
  mounted = await listenHttp(
    createServer((req, res) => {
      if (!answer(req.url!, req, res)) res.writeHead(404).end()
    }),
    '',
  )
  return mounted
}

const STRICT = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
]

describe("the console's static files", () => {
  it('are sent with a policy that allows only their own files', async () => {
    const { request } = await serve(folder)
    for (const path of ['/', '/index.html']) {
      const { status, headers, text } = await request(path)
      expect(status).toBe(200)
      expect(await text()).toContain('<!doctype html>')
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(headers['cache-control']).toBe('no-cache')
      const policy = headers['content-security-policy'] as string
      for (const rule of STRICT) expect(policy.split('; ')).toContain(rule)
      expect(policy).not.toContain('unsafe')
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      })
    }
  })

  it('are cached forever, since their names change with their content', async () => {
    const { request } = await serve(folder)
    const { status, headers } = await request('/assets/a-1f.js')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
  })

  it('are not sent again to a browser that has them', async () => {
    const { request } = await serve(folder)
    const { etag } = (await request('/')).headers
    const again = await request('/', { headers: { 'if-none-match': etag! } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it('answer HEAD like GET, and no other method', async () => {
    const { request } = await serve(folder)
    const head = await request('/', { method: 'HEAD' })
    expect([head.status, head.headers['content-length'], await head.text()]).toEqual([200, '69', ''])
    const post = await request('/', { method: 'POST' })
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  it.each([
    '/secret.env',
    '/assets/../secret.env',
    '/assets/%2e%2e/secret.env',
    '/assets/a-1f.js.map',
    '/assets/',
    '/none',
    '/constructor',
  ])('do not include other files: %s', async (path) => {
    const { request } = await serve(folder)
    expect((await request(path)).status).toBe(404)
  })

  it('that have not been built name the command to run, and are found once they are built', async () => {
    const later = join(folder, 'later')
    const { request } = await serve(later)
    const missing = await request('/')
    expect(missing.status).toBe(503)
    expect(await missing.text()).toContain('npm run build:console')
    mkdirSync(later)
    writeFileSync(join(later, 'index.html'), 'now')
    expect(await (await request('/')).text()).toBe('now')
  })

  it('are read from the folder that the package is built to', () => {
    expect(assetsFolder()).toMatch(/dist[/\\]console$/)
  })
})

describe.each(hosts)('the console in $name', (host) => {
  const admin = adminWith({
    entries: { list: async () => ({ entries: [] }) },
    models: { list: async () => [] },
    accounts: { open: async () => undefined, find: async () => undefined },
  })

  async function mount() {
    mounted = await host.mount(
      createConsole({
        admin,
        authorise: () => ({ kind: 'operator' }),
        ...(host.basePath === undefined ? {} : { basePath: host.basePath }),
      }),
    )
    return mounted
  }

  it('answers its API below the mount path, and redirects to an address ending in a slash', async () => {
    const { request } = await mount()
    const models = await request('/api/models')
    expect([models.status, await models.json()]).toEqual([200, { models: [] }])
    expect(models.headers['cache-control']).toBe('no-store')
    const bare = await request('?from=mail')
    expect([bare.status, bare.headers.location]).toEqual([308, './v1/?from=mail'])
    expect(new URL(bare.headers.location!, `http://host${MOUNT}`).pathname).toBe(`${MOUNT}/`)
    expect([200, 503]).toContain((await request('/')).status)
    expect((await request('/api/none')).status).toBe(404)
    expect([404, 418]).toContain((await request('/none')).status)
  })

  it('reads a body once, itself or by an earlier middleware', async () => {
    const { request, port } = await mount()
    const answer = await request('/api/accounts/open', {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: `http://127.0.0.1:${port}` },
      body: '{"account":"alice"}',
    })
    expect([answer.status, await answer.json()]).toEqual([
      404,
      { error: { message: 'There is no account "alice"', field: 'account' } },
    ])
  })
})

describe('the console in Express', () => {
  it('passes other paths to the host, even if mounted at the root', async () => {
    const { default: express } = await import('express')
    const app = express()
    app.use(
      createConsole({ admin: { entries: { list: () => undefined } } as never, authorise: () => undefined }),
    )
    app.use((_req, res) => {
      res.status(418).send('the host itself')
    })
    mounted = await listenHttp(createServer(app), '')
    expect((await mounted.request('/compat/v1/models')).status).toBe(418)
    expect((await mounted.request('/api/models')).status).toBe(401)
    expect([200, 503]).toContain((await mounted.request('/')).status)
  })
})
