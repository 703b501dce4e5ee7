import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import ts from 'typescript'

/** The tracked files and a language service over their TypeScript, pages of the console included. */
export class Project {
  readonly files: readonly string[]
  readonly service: ts.LanguageService
  readonly program: ts.Program

  constructor() {
    this.files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
      .split('\n')
      .filter((file) => file !== '' && existsSync(file))
    const { options } = ts.parseJsonConfigFileContent(
      ts.readConfigFile('tsconfig.json', ts.sys.readFile).config,
      ts.sys,
      process.cwd(),
    )
    const settings: ts.CompilerOptions = {
      ...options,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      jsx: ts.JsxEmit.ReactJSX,
      jsxImportSource: 'preact',
    }
    const roots = this.files.filter((file) => /\.tsx?$/.test(file)).map((file) => resolve(file))
    const host: ts.LanguageServiceHost = {
      getCompilationSettings: () => settings,
      getCurrentDirectory: () => process.cwd(),
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      getScriptFileNames: () => roots,
      getScriptVersion: () => '1',
      getScriptSnapshot: (file) => {
        const text = ts.sys.readFile(file)
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
      },
      directoryExists: ts.sys.directoryExists,
      fileExists: ts.sys.fileExists,
      getDirectories: ts.sys.getDirectories,
      readDirectory: ts.sys.readDirectory,
      readFile: ts.sys.readFile,
    }
    this.service = ts.createLanguageService(host)
    this.program = this.service.getProgram()!
  }

  source(file: string): ts.SourceFile {
    const source = this.program.getSourceFile(resolve(file))
    if (source === undefined) throw new Error(`${file} is no file of the project`)
    return source
  }

  text(file: string): string {
    return this.program.getSourceFile(resolve(file))?.text ?? readFileSync(file, 'utf8')
  }
}

/** Whether a file is one of a comma-separated list of beginnings of paths; `*` stands for a name. */
export function isIn(file: string, where: string): boolean {
  return where.split(',').some((start) => {
    const [pattern, isWhole] = start.endsWith('$') ? [start.slice(0, -1), true] : [start, false]
    const source = pattern
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('[^/]*')
    return new RegExp(`^${source}${isWhole ? '$' : ''}`).test(file)
  })
}
