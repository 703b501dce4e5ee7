import { readFileSync } from 'node:fs'
import type { Meter } from '@opentelemetry/api'
import { expect, it } from 'vitest'
import { createTelemetry } from '../../src/opentelemetry/index.js'
import { codeSpans, tableUnder } from '../helpers/markdown.js'
import { startObserved } from './observed-service.js'

const text = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')

it('docs/observability.md has every metric, and none that there is not', () => {
  const made: string[] = []
  const make = (name: string) => {
    made.push(name)
    return {}
  }
  const meter = {
    createHistogram: make,
    createObservableCounter: make,
    createObservableUpDownCounter: make,
    createObservableGauge: make,
    addBatchObservableCallback: () => {},
  } as unknown as Meter
  createTelemetry({ meter, tracer: false })
  const named = tableUnder(text, 'Metrics').map(([name]) => codeSpans(name!)[0])
  expect(named.sort()).toEqual(made.sort())
})

it('docs/observability.md has every attribute of a span', async () => {
  const { service, exported } = await startObserved()
  await service.end(await service.ask({ session_id: 's', model: 'no/such' }))
  await service.end(await service.ask({ session_id: 's' }))
  const named = new Set(codeSpans(text))
  const found = new Set(exported.spans().flatMap(({ attributes }) => Object.keys(attributes)))
  expect(found.size).toBeGreaterThan(20)
  expect([...found].filter((name) => !named.has(name))).toEqual([])
})
