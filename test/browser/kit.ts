import OpenAI from 'openai'
import { browserSession } from '../../src/browser/index.js'

/** What a page of the tests has, bundled for a browser. */
export const kit = { OpenAI, browserSession }

Object.assign(globalThis, { kit })
