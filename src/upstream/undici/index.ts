import buildConnector from 'undici/lib/core/connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import type { SenderAbilities, SenderModule } from '../sender.js'
import { UpstreamConnection } from './connection.js'

/** The most bytes of headers that a reply may have. Node's own limit, 16 KiB, is less than some gateways send. */
const HEADERS_BYTES = 64 * 1024

export const abilities: SenderAbilities = {
  limitsConnecting: true,
  sendsAgain: true,
  headerBytes: HEADERS_BYTES,
  passesOnCompressed: true,
  skipsContinue: true,
}

/** Sends by connections of undici, on Node. */
export const openSender: SenderModule['openSender'] = (origin, connectMs) => {
  const connect = buildConnector({ timeout: connectMs })
  return new Pool(origin, {
    maxHeaderSize: HEADERS_BYTES,
    factory: (target, options) => new UpstreamConnection(target, options, connect),
  })
}
