import type { ProviderError } from '../../base/errors.js'

/** The statuses with which providers refuse a prompt for its content. Other statuses have other meanings. */
const STATUSES = new Set([400, 401, 402, 403, 413, 422, 424, 446, 451])

/** Codes such as `content_filter`, `content_policy_violation`, `DataInspectionFailed`, `sensitive_word_detected`. */
const CODE =
  /content[-_ ]?(?:filter|policy|moderation|safety|block)|moderat|data[-_ ]?inspection|responsible[-_ ]?ai|policy[-_ ]?violation|prompt[-_ ]?(?:blocked|flagged)|invalid[-_ ]prompt|sensitive|security[-_ ]violation|guardrail|^(?:safety|refusal)(?:_|$)/i

const WORDS = new RegExp(
  [
    // "Content violates usage guidelines", "violating our usage policy", "in violation of the content policy"
    String.raw`violat\w{0,4}(?: of)?(?: \S{1,24}){0,4} (?:polic|guideline|terms)`,
    String.raw`\b(?:content|usage|safety|moderation)[ -](?:(?:management|moderation|filter\w{0,3}|safety) )?(?:polic|guideline|filter|check)`,
    'content exists risk|considered high risk|(?:inappropriate|prohibited|sensitive) content|new_sensitive',
    'requires moderation|content moderation|safety system|guardrail intervened|prompt injection|jailbreak',
    '(?:prompt|input|request|message|content|response|output)s? (?:was|were|is|are|has been|have been) (?:flagged|moderated|filtered)',
    '(?:prompt|input|content|response|output) (?:was |is |has been )?blocked',
    // Phrases of several Chinese platforms.
    '敏感|违规|不安全',
  ].join('|'),
  'i',
)

/** An account closed for a policy violation concerns the key, so another provider can serve the prompt. */
const ABOUT_THE_ACCOUNT =
  /\b(?:account|organi[sz]ation|workspace|project|subscription|api key|access)\b.{0,60}\b(?:deactivated|disabled|suspended|banned|terminated|revoked|restricted|locked)\b|账[号户].{0,20}[封停禁]/i

const LONGEST_WORDS = 4_096

/**
 * Whether a provider refused the content of the prompt, rather than the key or the account that sent it.
 *
 * A prompt can contain these words, and a provider may quote it. So the answer affects only the caller's own call, and
 * can only make it fail.
 */
export function refusesContent({
  providerCode = '',
  providerMessage = '',
  reason,
  status,
}: ProviderError): boolean {
  const isRefusal = status === undefined ? reason === 'error-frame' : STATUSES.has(status)
  if (!isRefusal || (reason !== 'status' && reason !== 'error-frame')) return false
  const words = providerMessage.slice(0, LONGEST_WORDS)
  if (ABOUT_THE_ACCOUNT.test(words)) return false
  return CODE.test(providerCode.slice(0, LONGEST_WORDS)) || WORDS.test(words)
}
