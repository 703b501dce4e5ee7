import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tableUnder } from '../helpers/markdown.js'
import type { App } from './apps.js'
import { CHECKS, COLUMNS } from './suite.js'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/frameworks.md'), 'utf8')

export const HEAD = `| | version | ${Object.values(COLUMNS).join(' | ')} |`
export const headIsShown = (): boolean => PAGE.includes(`\n${HEAD}\n`)
/** The rows of the documents' table: title, version, and a cell for each check. */
export const shownRows = (): string[][] => tableUnder(PAGE, 'What is tested')

/** The checks that an application must pass, by their names. */
export const checksOf = ({ without = [] }: App): string[] =>
  Object.keys(CHECKS).filter((name) => !without.includes(name))

/** The cells of the checks that passed. */
export const cellsOf = (passed: readonly string[]): string[] =>
  Object.keys(COLUMNS).map((name) => (passed.includes(name) ? '✓' : '–'))
