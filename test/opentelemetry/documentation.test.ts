import { readFileSync } from 'node:fs'
import type { Meter } from '@opentelemetry/api'
import { expect, it } from 'vitest'
import { createTelemetry } from '../../src/opentelemetry/index.js'
import { codeSpans, tableUnder } from '../helpers/markdown.js'
import { startObserved } from './observed-service.js'

const text = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')

it('docs/observability.md lists exactly the metrics that exist, each with its kind', () => {
  const created: string[][] = []
  const create = (kind: string) => (name: string) => {
    created.push([name, kind])
    return { add: () => {} }
  }
  const meter = {
    createCounter: create('counter'),
    createUpDownCounter: create('up-down counter'),
    createHistogram: create('histogram'),
    createObservableCounter: create('counter'),
    createObservableUpDownCounter: create('up-down counter'),
    createObservableGauge: create('gauge'),
    addBatchObservableCallback: () => {},
  } as unknown as Meter
  createTelemetry({ meter, tracer: false })
  const documented = tableUnder(text, 'Metrics').map(([name, kind]) => [codeSpans(name!)[0], kind])
  expect(documented.sort()).toEqual(created.sort())
})

it('docs/observability.md lists every attribute of a span', async () => {
  const { service, exported } = await startObserved()
  await service.end(await service.ask({ session_id: 's', model: 'no/such' }))
  await service.end(await service.ask({ session_id: 's' }))
  const documented = new Set(codeSpans(text))
  const found = new Set(exported.spans().flatMap(({ attributes }) => Object.keys(attributes)))
  expect(found.size).toBeGreaterThan(20)
  expect([...found].filter((name) => !documented.has(name))).toEqual([])
})
