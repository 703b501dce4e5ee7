import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_KEY, WireService } from './service.js'

describe('a path of an API that the router does not have', () => {
  let service: WireService
  beforeAll(async () => {
    service = await WireService.start()
  })
  afterAll(() => service.close())

  it.each([
    [
      '/completions',
      'There is no POST /completions: send the prompt as a message to POST /chat/completions.',
    ],
    [
      '//completions/',
      'There is no POST /completions: send the prompt as a message to POST /chat/completions.',
    ],
    ['/images/generations', 'This service has no API for images.'],
    ['/images/edits?n=1', 'This service has no API for images.'],
    ['/audio/speech', 'This service has no API for audio.'],
    ['/audio/transcriptions', 'This service has no API for audio.'],
    ['/moderations', 'This service has no API for moderations.'],
    ['/files', 'This service has no API for files.'],
    ['/fine_tuning/jobs', 'This service has no API for fine-tuning.'],
    ['/imagesque', 'There is no endpoint at this path.'],
    ['/completions/other', 'There is no endpoint at this path.'],
    ['/', 'There is no endpoint at this path.'],
  ])('%s is 404, and the message names those that exist', async (path, beginning) => {
    const response = await service.host.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).toBe(404)
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect(error.code).toBe('not_found')
    expect(error.message).toBe(
      `${beginning} Below the mount path there are POST /chat/completions, POST /responses, POST /messages, ` +
        'POST /embeddings, POST /messages/count_tokens, GET /models, GET /models/{model_key}, GET /key, GET /credits and ' +
        'GET /generation.',
    )
  })
})
