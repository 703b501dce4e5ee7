export { modelOf } from './gemini.js'
export {
  apiOf,
  refusalOf,
  type StrictApi,
  type StrictRefusal,
  type StrictRequest,
  type StrictRow,
} from './refusal.js'
export type { StrictCall, StrictReply, StrictUsage } from './replies.js'
export { sign } from './signatures.js'
export { type RecordedRequest, type ScriptedReply, StrictUpstream } from './upstream.js'
