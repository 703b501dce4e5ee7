import { type Shape, TARGETS } from '../shape.js'
import { result, WEATHER, weather } from './order.js'

const tools = [WEATHER]
const asks = { user: 'How is the weather?' }
const BILLING = 'x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36ee5;'

/** Blank texts, refusals and odd letters. */
export const TEXTS: readonly Shape[] = [
  {
    name: 'blank-text-beside-a-call',
    from: 'clients of OpenAI, which send content: "" beside calls',
    tools,
    turns: [
      asks,
      { assistant: ['', weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'blank-lines-beside-a-call',
    tools,
    turns: [
      asks,
      { assistant: ['\n\n', weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'a-blank-text-of-the-user',
    turns: [{ user: ['', 'A question'] }],
  },
  {
    name: 'a-blank-turn-of-the-model',
    turns: [{ user: 'A question' }, { assistant: [''] }, { user: 'Are you still there?' }],
  },
  {
    name: 'a-blank-turn-of-the-user',
    turns: [{ user: 'A question' }, { assistant: ['An answer'] }, { user: ' ' }],
  },
  { name: 'blank-instructions', turns: [{ system: '' }, { user: 'A question' }] },
  {
    name: 'a-refusal-in-the-history',
    turns: [
      { user: 'How do I do harm?' },
      { assistant: [{ refusal: 'I cannot help with that' }] },
      { user: 'Then something else' },
    ],
  },
  {
    name: 'white-space-at-the-end-of-an-answer',
    from: 'Anthropic refuses it in the last turn of the model',
    turns: [{ user: 'A question' }, { assistant: ['An answer with a space '] }, { user: 'Go on' }],
  },
  {
    name: 'a-first-line-that-changes',
    from: 'anthropics/claude-code #68900, sgl-project/sglang PR #21064: Claude Code',
    apis: ['messages'],
    turns: [{ system: BILLING }, { system: 'You are a coding agent' }, { user: 'A question' }],
    except: [
      {
        to: TARGETS.filter((to) => to !== 'messages'),
        without: [BILLING],
        why: 'a first line that changes would defeat every cache of a prefix',
      },
    ],
  },
  {
    name: 'letters-of-all-planes',
    turns: [{ user: 'A smile \u{1f600}, a line\u2028break and "quotes" \\ back' }],
    says: { text: 'Zwölf \u{1f600} <b>&amp;</b> \u2028 "quoted"' },
  },
]
