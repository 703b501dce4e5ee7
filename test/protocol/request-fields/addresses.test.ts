import { describe, expect, it } from 'vitest'
import { parseChatRequest } from '../../../src/operations/chat/read-request.js'
import { body, refusal } from '../chat-request-refusal.js'

const withPart = (part: object) => body({ messages: [{ role: 'user', content: [part] }] })
const image = (url: unknown) => withPart({ type: 'image_url', image_url: { url } })

describe('an address in a message', () => {
  it.each([
    'https://example.com/a.png',
    'HTTPS://EXAMPLE.com/a.png?x=1#y',
    'https://93.184.216.34/a.png',
    'https://[2606:2800:220:1::1]/a.png',
    'https://internal.example.com/',
    'data:image/png;base64,AAAA',
    'DATA:,x',
  ])('passes unchanged if it is public: %s', (url) => {
    const given = image(url)
    expect(parseChatRequest(given).forward.messages).toBe(given.messages)
  })

  it.each([
    'http://example.com',
    'file:///etc/passwd',
    'ftp://x',
    '//x/y',
    '/x',
    ' https://x',
    '',
    'gs://b',
    'https://',
    'https:example',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost',
    'https://printer.local',
    'https://metadata.google.internal/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://10.1.2.3',
    'https://172.31.0.1',
    'https://192.168.0.1',
    'https://169.254.169.254/latest/meta-data',
    'https://100.64.0.1',
    'https://0.0.0.0',
    'https://255.255.255.255',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://[ff02::1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001::1]/',
    'https://user@127.0.0.1/',
    'https://user:word@example.com/',
    'https://redis/',
    'https://router.home/',
    'https://nas.lan./',
    7,
    ['https://example.com'],
  ])('is refused if it is not public: %j', (url) => {
    // Some of these are not even addresses. The rest point into the network of the machine that opens them.
    const error = refusal(image(url))
    expect(error).toMatchObject({ code: 'invalid_request', param: 'messages.0.content.0.image_url.url' })
    expect(error.message).not.toContain('127.0.0.1')
  })

  it.each([
    [{ type: 'image_url', image_url: 'http://x' }, 'image_url'],
    [{ type: 'input_image', image_url: 'http://x' }, 'image_url'],
    [{ type: 'video_url', video_url: { url: 'http://x' } }, 'video_url.url'],
    [{ type: 'audio_url', audio_url: { url: 'http://x' } }, 'audio_url.url'],
    [{ type: 'file', file: { file_data: 'http://x' } }, 'file.file_data'],
    [{ type: 'file', file: { file_data: ' ftp://x' } }, 'file.file_data'],
    [{ type: 'file', file: { file_data: '//169.254.169.254/latest' } }, 'file.file_data'],
    [{ type: 'input_audio', input_audio: { data: 'http://x', format: 'wav' } }, 'input_audio.data'],
    [{ type: 'input_audio', input_audio: { data: 'file:///etc/passwd', format: 'wav' } }, 'input_audio.data'],
    [{ type: 'file', file: { file_url: 'https://x' } }, 'file.file_url'],
  ])('is found in %j', (part, place) => {
    expect(refusal(withPart(part)).param).toBe(`messages.0.content.0.${place}`)
  })

  it('is not found in the base64 of a file', () => {
    const given = withPart({ type: 'file', file: { filename: 'c: d.pdf', file_data: 'JVBERi0xLjc=' } })
    expect(parseChatRequest(given).forward.messages).toBe(given.messages)
  })

  it('of an image from a reply is sent if a provider may open it, and otherwise omitted', () => {
    const reply = (url: unknown) => {
      const images = [{ type: 'image_url', image_url: { url } }]
      const given = body({ messages: [{ role: 'assistant', content: 'x', images }] })
      const { forward, leftOut } = parseChatRequest(given)
      return [forward.messages[0]!.images, leftOut]
    }
    for (const url of ['data:image/png;base64,AAAA', 'https://example.com/a.png']) {
      expect(reply(url)).toEqual([[{ type: 'image_url', image_url: { url } }], []])
    }
    for (const url of ['http://example.com/a.png', 'https://10.0.0.1/a.png', 'file:///etc/passwd', 7]) {
      expect(reply(url)).toEqual([undefined, ['messages.images.0']])
    }
  })
})
