import { CompatError } from '../base/errors.js'
import type { RequestHeaders } from '../protocol/request-headers.js'

/** Throws 415 if the headers name a type other than JSON in UTF-8. `decoded`: the host has already inflated the body. */
export function checkBodyType(headers: RequestHeaders, decoded: boolean): void {
  const type = headers.header('content-type')
  if (type !== undefined && type !== 'application/json') checkContentType(type)
  const encoding = headers.header('content-encoding')
  if (!decoded && encoding !== undefined && encoding !== '') {
    throw new CompatError(
      'unsupported_media_type',
      'A request body with a content-encoding is not accepted; send it uncompressed and without that header.',
    )
  }
}

function checkContentType(header: string): void {
  const parts = header.split(';')
  const mediaType = parts[0]!.trim().toLowerCase()
  if (mediaType !== '' && mediaType !== 'application/json' && !/^[^\s/]+\/[^\s/]+\+json$/.test(mediaType)) {
    throw new CompatError(
      'unsupported_media_type',
      'The content-type of the request body must be application/json.',
    )
  }
  for (const part of parts.slice(1)) {
    const equals = part.indexOf('=')
    if (equals === -1 || part.slice(0, equals).trim().toLowerCase() !== 'charset') continue
    const charset = part
      .slice(equals + 1)
      .trim()
      .toLowerCase()
    if (!/^("?)utf-?8\1$/.test(charset)) {
      throw new CompatError('unsupported_media_type', 'The charset of the request body must be utf-8.')
    }
  }
}
