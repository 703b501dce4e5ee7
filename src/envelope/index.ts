export type { EnvelopeCurve, EnvelopePublicKey } from './format.js'
export { type EnvelopeKey, generateEnvelopeKey, type Keyring, type KeyringKey, keyring } from './keyring.js'
