import OpenAI from 'openai'
import { browserSession } from '../../src/browser/index.js'

/** The libraries of a test page, bundled for a browser. */
export const kit = { OpenAI, browserSession }

Object.assign(globalThis, { kit })
