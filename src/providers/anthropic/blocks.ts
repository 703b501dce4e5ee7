import type { ContentPart } from '../openai-input/content.js'
import { unsupported } from '../openai-input/unsupported.js'
import type { NativeBlock } from './wire.js'

const CACHE = { cache_control: { type: 'ephemeral' } }

/** Converts one part of a message to a content block: text, an image, a PDF or a plain text document. */
export function toBlock(part: ContentPart): NativeBlock {
  const cache = part.cache ? CACHE : {}
  if (part.type === 'text') return { type: 'text', text: part.text, ...cache }
  return { ...toMediaBlock(part), ...cache }
}

function toMediaBlock(part: ContentPart & { type: 'media' }): NativeBlock {
  const { source, param } = part
  const title = part.filename === undefined ? {} : { title: part.filename }
  if (source.kind === 'url') {
    const address = { type: 'url', url: source.url }
    return part.image ? { type: 'image', source: address } : { type: 'document', source: address, ...title }
  }
  const { mediaType, base64 } = source
  if (mediaType.startsWith('image/')) {
    const name = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
    return { type: 'image', source: { type: 'base64', media_type: name, data: base64 } }
  }
  if (mediaType === 'application/pdf') {
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data: base64 }, ...title }
  }
  if (mediaType === 'text/plain') {
    const data = Buffer.from(base64, 'base64').toString('utf8')
    return { type: 'document', source: { type: 'text', media_type: mediaType, data }, ...title }
  }
  throw unsupported(param, `${param}: this provider accepts only images, PDFs and plain text.`)
}
