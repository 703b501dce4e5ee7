import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type * as Units from '../../src/base/units.js'
import type { Prices } from '../../src/index.js'
import { readMediaCounts } from '../../src/providers/ai-sdk/media-counts.js'
import { parseInput, pricesSchema } from '../../src/rules/schemas.js'
import { ENTRY_COLUMN_TYPES, ENTRY_COLUMNS, readUsage, toEntryCells } from '../../src/sql/entry-rows.js'
import { ask, MODEL, providerReply, WireService } from './service.js'

vi.mock('../../src/base/units.js', async (original) => {
  const { MEDIA_UNITS } = await original<typeof Units>()
  const video = {
    name: 'videoInput',
    side: 'input',
    kind: 'video',
    wire: 'video_tokens',
    column: 'video_input',
  }
  return { MEDIA_UNITS: [...MEDIA_UNITS, video] }
})

const PRICES = { input: '2', output: '8', imageInput: '5', videoInput: '40' } satisfies Prices & {
  readonly videoInput: string
}
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  prompt_tokens_details: { image_tokens: 30, video_tokens: 20 },
}
/** In millionths of a credit. */
const COST = 20 * 40 + 30 * 5 + 50 * 2 + 50 * 8
const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }

describe('a unit that is added to the table of units', () => {
  let service: WireService
  beforeAll(async () => {
    service = await WireService.start({
      models: [{ id: MODEL, prices: PRICES, mediaTokens: 1_000, maxOutputTokens: 1_000 }],
    })
  })
  afterAll(() => service.close())

  it('is counted, priced, answered and entered', async () => {
    service.upstream.scriptOnce(async (reply) => {
      reply.head(200, { 'content-type': 'application/json' })
      await reply.write(JSON.stringify(providerReply({ usage: USAGE })))
      reply.end()
    })
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const response = await service.post(ask({ messages: [{ role: 'user', content: [image] }] }))
    expect(response.status).toBe(200)
    const { usage } = JSON.parse(await response.text())
    expect(usage).toMatchObject({
      prompt_tokens_details: { image_tokens: 30, video_tokens: 20 },
      cost: COST / 1_000_000,
    })
    const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
    const { charge, facts } = entries.find(({ kind }) => kind === 'charge')!
    expect(charge).toMatchObject({ cost: BigInt(COST) * 1_000n, usage: { imageInput: 30, videoInput: 20 } })

    const cells = toEntryCells('hold', charge!, facts!, [], [])
    const stored = cells.map((cell) => (typeof cell === 'number' ? BigInt(cell) : cell))
    const row = Object.fromEntries(ENTRY_COLUMNS.map((column, index) => [column, stored[index]!]))
    expect(ENTRY_COLUMN_TYPES).toHaveProperty('video_input', 'bigint')
    expect(row).toMatchObject({ image_input: 30n, video_input: 20n, audio_input: null })
    expect(readUsage(row)).toEqual(charge!.usage)
  })

  it('is listed with its price, which is checked', async () => {
    const response = await service.get('/models')
    const { data } = JSON.parse(await response.text())
    expect(data[0].pricing).toMatchObject(PRICES)
    expect(parseInput(pricesSchema, PRICES, 'prices')).toEqual(PRICES)
    expect(() => parseInput(pricesSchema, { ...PRICES, videoInput: '-1' }, 'prices')).toThrow(
      'prices.videoInput',
    )
  })

  it('is read from what a model of the AI SDK reports in the format of OpenAI or Gemini', () => {
    expect(readMediaCounts(USAGE)).toMatchObject({ videoInput: 20 })
    expect(readMediaCounts({ promptTokensDetails: [{ modality: 'VIDEO', tokenCount: 7 }] })).toMatchObject({
      videoInput: 7,
    })
  })
})
