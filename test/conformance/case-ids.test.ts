import { expect, it } from 'vitest'
import {
  callCases,
  catalogueCases,
  connectCases,
  credentialCases,
  idempotencyCases,
  ledgerCases,
  registryCases,
} from '../../src/testing/index.js'

const suites = {
  callCases,
  catalogueCases,
  connectCases,
  credentialCases,
  idempotencyCases,
  ledgerCases,
  registryCases,
}

it.each(Object.entries(suites))('%s keep their ids and needs', (_, cases) => {
  expect(cases.map(({ id, needs }) => [id, ...needs].join(' '))).toMatchSnapshot()
})

it('the published cases have unique ids, and unique names within each suite', () => {
  const ids = Object.values(suites).flatMap((suite) => suite.map(({ id }) => id))
  expect(new Set(ids).size).toBe(ids.length)
  for (const suite of Object.values(suites)) {
    expect(new Set(suite.map(({ name }) => name)).size).toBe(suite.length)
  }
})
