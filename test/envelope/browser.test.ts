import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { askDatabases } from '../helpers/ask-databases.js'
import { bundleForBrowser } from '../helpers/bundle-for-browser.js'
import { connectToChromium } from '../helpers/chromium.js'
import { CURVES, outcome, PROVIDER_KEY, published, RIGHT } from './fixtures.js'

const PAGE = `<!doctype html>
<script type="module">
  import { sealProviderKey } from '/seal.js'
  globalThis.sealProviderKey = sealProviderKey
</script>`

type SealingPage = typeof import('../../src/envelope/seal.js')

let browser: Browser
let server: Server
let page: Page

beforeAll(async () => {
  const module = await bundleForBrowser('src/envelope/seal.ts')
  server = createServer((request, response) => {
    const isModule = request.url === '/seal.js'
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html')
    response.end(isModule ? module : PAGE)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  browser = await connectToChromium(await askDatabases(inject('databases'), '/chromium'))
  page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}, 180_000)

afterAll(async () => {
  await browser?.close()
  server?.closeAllConnections()
  server?.close()
})

describe('sealProviderKey in a browser', () => {
  it.each(CURVES)('seals an envelope on %s that Node opens', async (curve) => {
    const jwk = published.find(({ crv }) => crv === curve)!
    const { envelope, globals } = await page.evaluate(
      async ([providerKey, publicKey]) => ({
        envelope: await (globalThis as unknown as SealingPage).sealProviderKey(providerKey, publicKey),
        globals: ['window', 'process', 'Buffer'].filter((name) => name in globalThis),
      }),
      [RIGHT, jwk] as const,
    )
    expect(globals).toEqual(['window'])
    expect(await outcome(envelope)).toBe(PROVIDER_KEY)
  })
})
