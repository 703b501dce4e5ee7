import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endpoints } from '../../src/console/endpoints/index.js'
import { alice, type Bench, furnish, operator, startBench } from './console-bench.js'

const NUL = String.fromCharCode(0)
const values: readonly unknown[] = [null, NUL, { toString: 1 }]
/** The fields of all bodies. */
const fields = [
  'account amount reference memo entryId credentialId lastFour expiresAt scopes allowedModels metadata label appId',
  'id name markup redirectUris origins site suggestedCap owner state testers logo review decision connectedAppId cap',
  'connectionId model provider adapter upstreamModel settings secret prices weight unit per zone of ownerId was',
].flatMap((line) => line.split(' '))

describe('a request that the console cannot read', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await startBench({ console: { publish: () => true } })
    await furnish(bench)
  })
  afterAll(() => bench.close())

  /** Bodies that are right as far as they go, so that what is wrong with one field is reached. */
  const usual = {
    account: 'alice',
    amount: '1',
    id: 'x',
    appId: 'notes',
    connectedAppId: 'g',
    logo: Buffer.from('no picture').toString('base64'),
    hash: 'h',
    decision: 'accept',
    review: { appId: 'notes', by: 'alice', at: 1, values: { name: 5 } },
  }

  it.each(endpoints.filter(({ method }) => method === 'POST').map(({ path, who }) => [path, who] as const))(
    'is refused, and not reported as a fault of the console: POST %s',
    async (path, who) => {
      const visitor = bench.as(who === 'publisher' ? alice : operator)
      for (const value of values) {
        const answers = await Promise.all(
          fields.map(async (field) => {
            const { status, text } = await visitor.post(`api/${path}`, { ...usual, [field]: value })
            return [field, value, status < 500 ? 'understood' : text]
          }),
        )
        expect(answers).toEqual(fields.map((field) => [field, value, 'understood']))
      }
      const { json } = await bench
        .as(operator)
        .get<{ events: { type: string; message: string }[] }>('api/events?limit=1000')
      expect(json.events.filter(({ type }) => type === 'fault')).toEqual([])
    },
  )

  it.each(['no picture', 'GIF89a'])(
    'is refused with the name of the field if a logo is invalid: %s',
    async (text) => {
      const logo = Buffer.from(text).toString('base64')
      const { status, json } = await bench
        .as(operator)
        .post<{ error: { field: string } }>('api/apps/put-logo', {
          id: 'notes',
          logo,
        })
      expect([status, json.error.field]).toEqual([400, 'logo'])
    },
  )
})
