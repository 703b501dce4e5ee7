import { afterEach, describe, expect, it } from 'vitest'
import type { RouterEvent, RouterOptions } from '../../src/index.js'
import { fails, type Service, startService } from './service.js'

const TRACE = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: 'vendor=opaque',
}

let service: Service
afterEach(() => service.close())

async function start(traceContext: RouterOptions['traceContext'], routes = 1): Promise<Service> {
  service = await startService({
    routes: Array.from({ length: routes }, () => ({})),
    router: traceContext === undefined ? {} : { traceContext },
  })
  return service
}

const starts = ({ events }: Service) =>
  events.filter(
    (event): event is Extract<RouterEvent, { type: 'request-start' }> => event.type === 'request-start',
  )

const sent = (upstream: Service['upstreams'][number]) =>
  upstream.requests.map(({ headers }) => ({
    traceparent: headers.traceparent,
    tracestate: headers.tracestate,
  }))

describe("a caller's trace context", () => {
  it('is neither reported nor passed on if the host does not configure it', async () => {
    await start(undefined)
    expect((await service.ask({}, TRACE)).status).toBe(200)
    expect(starts(service)[0]).not.toHaveProperty('trace')
    expect(sent(service.upstreams[0]!)).toEqual([{}])
  })

  it('is in the event at the start, and not passed on, if the host reads it', async () => {
    await start('read')
    expect((await service.ask({}, TRACE)).status).toBe(200)
    expect(starts(service)[0]!.trace).toEqual(TRACE)
    expect(sent(service.upstreams[0]!)).toEqual([{}])
  })

  it('is sent to every provider that is called if the host forwards it', async () => {
    await start('forward', 2)
    service.upstreams[0]!.script(fails(503))
    const answers = [await service.ask({}, TRACE), await service.ask({ stream: true }, TRACE)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(starts(service).map(({ trace }) => trace)).toEqual([TRACE, TRACE])
    expect(sent(service.upstreams[0]!)).toEqual([TRACE, TRACE])
    expect(sent(service.upstreams[1]!)).toEqual([TRACE, TRACE])
  })

  it('is ignored if it is malformed', async () => {
    await start('forward')
    await service.ask({}, { ...TRACE, traceparent: '00-not-a-trace-01' })
    await service.ask({})
    expect(starts(service).map((event) => 'trace' in event)).toEqual([false, false])
    expect(sent(service.upstreams[0]!)).toEqual([{}, {}])
  })

  it('accompanies the request to the provider', async () => {
    await start('read')
    await service.ask({}, TRACE)
    const headers = { authorization: 'Bearer token-of-alice', ...TRACE }
    await fetch(`${service.url}/models`, { headers })
    await fetch(`${service.url}/models/none`, { headers })
    expect(starts(service).map(({ operation, trace }) => [operation, trace])).toEqual([
      ['chat', TRACE],
      ['list-models', TRACE],
      ['get-model', TRACE],
    ])
    const ends = service.events.filter(({ type }) => type === 'request-end')
    expect(ends).toMatchObject([
      { operation: 'chat', outcome: 'completed' },
      { operation: 'list-models', outcome: 'completed' },
      { operation: 'get-model', outcome: 'model_not_found' },
    ])
  })
})
