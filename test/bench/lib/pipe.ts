import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

/**
 * The limit: the cost of Node's `http` and undici alone. Bytes in, bytes out, without parsing, checks or
 * counts. A JSON reply is sent in one write, head and body.
 */
export function createPipe(upstreamUrl: string): RequestListener {
  const { origin, pathname } = new URL(upstreamUrl)
  const pool = new Pool(origin, { connections: null, pipelining: 1 })

  return (req, res) => {
    collect(req, (body) => {
      pool.dispatch({ path: pathname, method: 'POST', headers: HEADERS, body }, createRelay(res))
    })
  }
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: 'Bearer sk-upstream-bench',
}

function collect(req: IncomingMessage, done: (body: Buffer) => void): void {
  const parts: Buffer[] = []
  req.on('data', (part: Buffer) => parts.push(part))
  req.on('end', () => done(parts.length === 1 ? parts[0]! : Buffer.concat(parts)))
}

function createRelay(res: ServerResponse): Dispatcher.DispatchHandler {
  let status = 0
  let type = ''
  let isStream = false
  const parts: Buffer[] = []
  return {
    onRequestStart(controller) {
      res.on('close', () => {
        if (!res.writableFinished) controller.abort(new Error('the client has left'))
      })
    },
    onResponseStart(_controller, statusCode, headers) {
      status = statusCode
      type = String(headers['content-type'])
      isStream = type.startsWith('text/event-stream')
      if (isStream) res.writeHead(status, { 'content-type': type, 'cache-control': 'no-cache' })
    },
    onResponseData(controller, part) {
      if (!isStream) parts.push(part)
      else if (!res.write(part)) {
        controller.pause()
        res.once('drain', () => controller.resume())
      }
    },
    onResponseEnd() {
      if (isStream) {
        res.end()
        return
      }
      const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
      res.writeHead(status, { 'content-type': type, 'content-length': body.length })
      res.end(body)
    },
    onResponseError() {
      if (!res.headersSent) res.writeHead(502)
      res.end()
    },
  }
}
