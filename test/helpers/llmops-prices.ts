import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Serves the price list that `@llmops/sdk` reads from models.llmops.build, which has cents a token. */
export async function startLlmopsPrices(prices: {
  /** Credits per million tokens, as the two others are. */
  readonly input: string
  readonly output: string
  readonly cachedInput: string
}): Promise<{ port: number; close: () => void }> {
  const cents = (perMillion: string) => ({ price: Number(perMillion) / 10_000 })
  const page = JSON.stringify({
    pay_as_you_go: {
      request_token: cents(prices.input),
      response_token: cents(prices.output),
      cache_read_input_token: cents(prices.cachedInput),
    },
  })
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
