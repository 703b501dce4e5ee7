import type { Api } from '../conversations/shape.js'
import { PROMPT } from './task.js'

/** Where an agent runs, and what it is to ask. */
export interface Place {
  /** The router's address, without `/v1`. */
  readonly router: string
  readonly key: string
  readonly model: string
}

export interface Start {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Files of its home, by their paths. */
  readonly home: Readonly<Record<string, string>>
}

export interface Agent {
  readonly name: string
  /** The command that its package installs. */
  readonly command: 'claude' | 'codex' | 'opencode'
  /** The API that it speaks. */
  readonly api: Api
  /** The name of the model, by which an agent may know what it can do. */
  readonly model: string
  /** What the router leaves out of its requests, and reports. */
  readonly trimmed: readonly string[]
  start(place: Place): Start
}

/** Codex knows OpenAI's models by their names: each generation gets other tools and settings. */
const codex = (model: string, trimmed: string): Agent => ({
  name: `Codex with ${model}`,
  command: 'codex',
  api: 'responses',
  model,
  trimmed: [trimmed],
  start: ({ key, router }) => ({
    // A sandbox needs rights that a container may not have. The project is a folder that nothing else uses.
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', PROMPT],
    env: { COMPAT_API_KEY: key },
    home: {
      '.codex/config.toml': `
model = "${model}"
model_provider = "compat"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.compat]
name = "Compat"
base_url = "${router}/v1"
env_key = "COMPAT_API_KEY"
wire_api = "responses"
`,
    },
  }),
})

/** Programs that run Claude Code take its events. It then asks for other forms of thoughts. */
const claudeCode = (form: 'text' | 'stream-json'): Agent => ({
  name: `Claude Code with ${form}`,
  command: 'claude',
  api: 'messages',
  model: 'acme/fast',
  trimmed: [],
  start: ({ key, model, router }) => ({
    args: ['-p', PROMPT, '--output-format', form, '--verbose', '--allowedTools', 'Read,Write,Edit,Bash'],
    env: {
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_BASE_URL: router,
      ANTHROPIC_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
    },
    home: {},
  }),
})

/** opencode speaks the API of the package that it is given. */
const opencode = (npm: string, api: Api): Agent => ({
  name: `opencode with ${npm}`,
  command: 'opencode',
  api,
  model: 'acme/fast',
  trimmed: [],
  start: ({ key, model, router }) => ({
    args: ['run', '-m', `compat/${model}`, PROMPT],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    },
    home: {
      '.config/opencode/opencode.json': JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        provider: {
          compat: {
            npm,
            name: 'Compat',
            options: { baseURL: `${router}/v1`, apiKey: key },
            models: { [model]: { name: 'Fast' } },
          },
        },
      }),
    },
  }),
})

/** These go to all kinds of providers. */
export const MAIN: readonly Agent[] = [
  codex('acme/fast', 'tools.web_search'),
  codex('gpt-5.5', 'tools.web_search'),
  codex('gpt-6.2-sol', 'reasoning.context'),
  claudeCode('text'),
  opencode('@ai-sdk/openai-compatible', 'chat'),
]

/** All go through conversations whose provider changes. */
export const AGENTS: readonly Agent[] = [
  ...MAIN,
  claudeCode('stream-json'),
  opencode('@ai-sdk/openai', 'responses'),
  opencode('@ai-sdk/anthropic', 'messages'),
]
