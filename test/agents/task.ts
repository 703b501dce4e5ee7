import { join } from 'node:path'
import type { StrictCall, StrictReply, StrictUsage } from '../conversations/strict/index.js'
import type { OfferedTool } from './offered-tools.js'

export const PROMPT =
  'Add up the numbers in numbers.txt, write the sum into sum.txt, and check it with a command. Then say that you are done.'

/** What the project has before, what a model learns from it, and what it has afterwards. */
export const NUMBERS = { file: 'numbers.txt', text: '1204\n3317\n' }
export const SUM = { file: 'sum.txt', text: '4521\n' }
/** Its output does not occur in the command, so an agent that repeats it has run the command. */
const COMMAND = `tr 0-9 a-j < ${SUM.file}`
const PRINTED = 'efcb'
export const DONE = 'The sum is 4521, and sum.txt has it.'

export const PRICES = { input: '2', cachedInput: '0.5', output: '8', request: '0.0001' }

/** What a reply costs, in 10^-9 credits. */
export function priceOf({ usage }: { readonly usage: StrictUsage }): bigint {
  const { cached = 0, input, output } = usage
  return BigInt((input - cached) * 2_000 + cached * 500 + output * 8_000 + 100_000)
}

type Step = { readonly reads: string } | { readonly writes: typeof SUM } | { readonly runs: string }

interface Said extends Omit<StrictReply, 'calls' | 'usage'> {
  readonly usage: StrictUsage
}

interface Turn {
  readonly says: Said
  readonly does?: Step
  /** What the agent must have sent in this turn: the result of an earlier one. */
  readonly knows?: string
}

const usage = (turn: number): StrictUsage => ({
  input: 10_000 + 100 * turn,
  cached: 1_000 * turn,
  output: 50 + turn,
  thoughts: 10 + turn,
})

/** What the model says and does, whoever is asked. Each turn has another price. */
export const TURNS: readonly Turn[] = [
  {
    says: { thoughts: 'The file comes first.', text: 'I read the numbers.', usage: usage(1) },
    does: { reads: NUMBERS.file },
  },
  {
    says: { thoughts: '1204 and 3317 are 4521.', text: 'I write the sum.', usage: usage(2) },
    does: { writes: SUM },
    knows: '3317',
  },
  {
    says: { thoughts: 'A command must check it.', text: 'I check it.', usage: usage(3) },
    does: { runs: COMMAND },
  },
  { says: { thoughts: 'It is right.', text: DONE, usage: usage(4) }, knows: PRINTED },
]

/** What the model says if an agent asks for something beside the task, such as a title of the conversation. */
export const ASIDE: Said = { text: 'Sum of two numbers', usage: { input: 500, output: 5 } }

/** The call by which an agent takes a step in a folder, with one of its own tools. */
export function callFor(step: Step, tools: readonly OfferedTool[], folder: string): StrictCall {
  const script = tools.find(({ isCustom, name }) => isScript(name, isCustom, tools))
  if (script !== undefined) return textCall(script, scriptFor(step))
  if ('reads' in step) {
    const reader = tools.find((tool) => /read/i.test(tool.name) && pathOf(tool) !== undefined)
    if (reader !== undefined) return jsonCall(reader, { [pathOf(reader)!]: join(folder, step.reads) })
    return shellCall(tools, `cat ${step.reads}`)
  }
  if ('runs' in step) return shellCall(tools, step.runs)
  const { file, text } = step.writes
  const writer = tools.find((tool) => 'content' in tool.properties && pathOf(tool) !== undefined)
  if (writer !== undefined) return jsonCall(writer, { [pathOf(writer)!]: join(folder, file), content: text })
  const patcher = tools.find(({ name }) => name.endsWith('apply_patch'))
  if (patcher !== undefined) return textCall(patcher, patchFor(step.writes))
  return shellCall(tools, `printf '${text.replaceAll('\n', '\\n')}' > ${file}`)
}

/** Whether a tool is the one that runs scripts, which call all others. */
const isScript = (name: string, isCustom: boolean, tools: readonly OfferedTool[]) =>
  /(^|__)exec$/.test(name) && (isCustom || !tools.some(isShell))

const isShell = ({ properties }: OfferedTool) => 'command' in properties || 'cmd' in properties

/** Whether a request is one of the task: others offer nothing that could do it. */
export const isForTask = (tools: readonly OfferedTool[]) =>
  tools.some((tool) => isShell(tool) || isScript(tool.name, tool.isCustom, tools))

const pathOf = ({ properties }: OfferedTool) =>
  Object.keys(properties).find((name) => /^file_?path$/i.test(name))

const patchFor = ({ file, text }: typeof SUM) =>
  `*** Begin Patch\n*** Add File: ${file}\n${text.replaceAll(/^(?=.)/gm, '+')}*** End Patch\n`

function scriptFor(step: Step): string {
  if ('writes' in step) return `text(await tools.apply_patch(${JSON.stringify(patchFor(step.writes))}))`
  const cmd = 'reads' in step ? `cat ${step.reads}` : step.runs
  return `text((await tools.exec_command(${JSON.stringify({ cmd })})).output)`
}

function shellCall(tools: readonly OfferedTool[], command: string): StrictCall {
  const shell = tools.find(isShell)
  if (shell === undefined) throw new Error('The agent offers no tool that runs a command.')
  return jsonCall(shell, { ['cmd' in shell.properties ? 'cmd' : 'command']: command })
}

/** A call with these arguments, and a text for each other one that is required. */
function jsonCall(tool: OfferedTool, given: Readonly<Record<string, string>>): StrictCall {
  const others = tool.required.filter((name) => !(name in given)).map((name) => [name, 'A step of the task'])
  return { name: tool.name, arguments: JSON.stringify({ ...Object.fromEntries(others), ...given }) }
}

/** A call of a tool that takes a text, which is a function of one text if its provider knows no others. */
function textCall(tool: OfferedTool, text: string): StrictCall {
  if (tool.isCustom) return { name: tool.name, arguments: text, isCustom: true }
  const [name = 'input'] = Object.keys(tool.properties)
  return { name: tool.name, arguments: JSON.stringify({ [name]: text }) }
}
