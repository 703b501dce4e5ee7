/** The part of the package that the tests use. */
declare module '@huggingface/jinja' {
  export class Template {
    constructor(source: string)
    render(context: Readonly<Record<string, unknown>>): string
  }
}
