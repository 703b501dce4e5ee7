import type { Api } from '../conversations/shape.js'
import { documentedSettings, exported } from './settings.js'
import { PROMPT } from './task.js'

/** The package with which the clients page sets up opencode. */
const CHATS_PACKAGE = '@ai-sdk/openai-compatible'

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
  /** Where else it wants to go in any case. It must do its task all the same if nothing lets it. */
  readonly asksElsewhere: readonly string[]
  start(place: Place): Start
}

/** Codex knows OpenAI's models by their names: each generation gets other tools and settings. */
const codex = (model: string, trimmed: string): Agent => ({
  name: `Codex with ${model}`,
  command: 'codex',
  api: 'responses',
  model,
  trimmed: [trimmed],
  asksElsewhere: ['api.github.com:443', 'chatgpt.com:443', 'github.com:443'],
  start: (place) => ({
    args: [
      'exec',
      '--skip-git-repo-check',
      // A sandbox needs rights that a container may not have. The project is a folder that nothing else uses.
      '--dangerously-bypass-approvals-and-sandbox',
      ...['-c', 'check_for_update_on_startup=false', '-c', 'analytics.enabled=false'],
      PROMPT,
    ],
    env: { COMPAT_API_KEY: place.key },
    home: { '.codex/config.toml': documentedSettings('codex', place) },
  }),
})

/** Programs that run Claude Code take its events. It then asks for other forms of thoughts. */
const claudeCode = (form: 'text' | 'stream-json'): Agent => ({
  name: `Claude Code with ${form}`,
  command: 'claude',
  api: 'messages',
  model: 'acme/fast',
  trimmed: [],
  asksElsewhere: [],
  start: (place) => ({
    args: ['-p', PROMPT, '--output-format', form, '--verbose', '--allowedTools', 'Read,Write,Edit,Bash'],
    env: {
      ...exported(documentedSettings('claude-code', place)),
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
  asksElsewhere: ['registry.npmjs.org:443'],
  start: (place) => ({
    args: ['run', PROMPT],
    env: {
      COMPAT_API_KEY: place.key,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_SHARE: '1',
    },
    home: {
      // It waits until the registry has refused its package for plugins, and by default asks three times in half a minute.
      '.npmrc': 'fetch-retries=0\n',
      '.config/opencode/opencode.json': documentedSettings('opencode', place).replace(CHATS_PACKAGE, npm),
    },
  }),
})

/** These go to all kinds of providers. */
export const MAIN: readonly Agent[] = [
  codex('acme/fast', 'tools.web_search'),
  codex('gpt-5.5', 'tools.web_search'),
  codex('gpt-6.2-sol', 'reasoning.context'),
  claudeCode('text'),
  opencode(CHATS_PACKAGE, 'chat'),
]

/** All go through conversations whose provider changes. */
export const AGENTS: readonly Agent[] = [
  ...MAIN,
  claudeCode('stream-json'),
  opencode('@ai-sdk/openai', 'responses'),
  opencode('@ai-sdk/anthropic', 'messages'),
]
