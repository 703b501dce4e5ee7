import type { Shape, Shapes } from '../shape.js'

const INTEGER: Shape = { either: ['number', 'string'] }
const DATA: Shape = { members: {}, others: 'any' }
const list = (shape: Shape): Shape => ({ list: shape })
const ref = (name: string): Shape => ({ ref: name })
const words = (...only: string[]): Shape => ({ only })

/** A message of Protocol Buffers in JSON: every member may be left out or null, and has two spellings. */
function message(members: Readonly<Record<string, Shape>>): Shape {
  const both = Object.entries(members).flatMap(([name, shape]): [string, Shape][] => {
    const nullable: Shape = shape === 'any' ? shape : { either: [shape, 'null'] }
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return snake === name
      ? [[name, nullable]]
      : [
          [name, nullable],
          [snake, nullable],
        ]
  })
  return { members: Object.fromEntries(both), optional: both.map(([name]) => name) }
}

/**
 * What the API's reference says of `models.generateContent`: https://ai.google.dev/api/generate-content and
 * https://ai.google.dev/api/caching
 */
export const GEMINI: Shapes = {
  roots: {
    generate: message({
      model: 'string',
      contents: list(ref('Content')),
      systemInstruction: ref('Content'),
      tools: list(ref('Tool')),
      toolConfig: ref('ToolConfig'),
      safetySettings: list(message({ category: 'string', threshold: 'string' })),
      generationConfig: ref('GenerationConfig'),
      cachedContent: 'string',
      serviceTier: 'string',
      store: 'boolean',
    }),
  },
  named: {
    Content: message({ role: 'string', parts: list(ref('Part')) }),
    Part: message({
      text: 'string',
      thought: 'boolean',
      thoughtSignature: 'string',
      inlineData: message({ mimeType: 'string', data: 'string' }),
      fileData: message({ mimeType: 'string', fileUri: 'string' }),
      functionCall: message({ id: 'string', name: 'string', args: DATA }),
      functionResponse: message({
        id: 'string',
        name: 'string',
        response: DATA,
        parts: list(message({ inlineData: message({ mimeType: 'string', data: 'string' }) })),
        willContinue: 'boolean',
        scheduling: words('SCHEDULING_UNSPECIFIED', 'SILENT', 'WHEN_IDLE', 'INTERRUPT'),
      }),
      executableCode: message({ id: 'string', language: 'string', code: 'string' }),
      codeExecutionResult: message({ id: 'string', outcome: 'string', output: 'string' }),
      toolCall: message({ id: 'string', toolType: 'string', args: DATA }),
      toolResponse: message({ id: 'string', toolType: 'string', response: DATA }),
      videoMetadata: message({ startOffset: 'string', endOffset: 'string', fps: 'number' }),
      mediaResolution: message({ level: 'string' }),
      partMetadata: DATA,
    }),
    Tool: message({
      functionDeclarations: list(ref('FunctionDeclaration')),
      googleSearch: DATA,
      googleSearchRetrieval: DATA,
      codeExecution: message({}),
      urlContext: message({}),
      fileSearch: DATA,
      googleMaps: DATA,
      computerUse: DATA,
      mcpServers: list(DATA),
    }),
    FunctionDeclaration: message({
      name: 'string',
      description: 'string',
      behavior: words('UNSPECIFIED', 'BLOCKING', 'NON_BLOCKING'),
      parameters: ref('Schema'),
      parametersJsonSchema: 'any',
      response: ref('Schema'),
      responseJsonSchema: 'any',
    }),
    Schema: message({
      type: words(
        'TYPE_UNSPECIFIED',
        'STRING',
        'NUMBER',
        'INTEGER',
        'BOOLEAN',
        'ARRAY',
        'OBJECT',
        'NULL',
        'string',
        'number',
        'integer',
        'boolean',
        'array',
        'object',
        'null',
      ),
      format: 'string',
      title: 'string',
      description: 'string',
      nullable: 'boolean',
      enum: list('string'),
      maxItems: INTEGER,
      minItems: INTEGER,
      properties: { members: {}, others: ref('Schema') },
      required: list('string'),
      minProperties: INTEGER,
      maxProperties: INTEGER,
      minLength: INTEGER,
      maxLength: INTEGER,
      pattern: 'string',
      example: 'any',
      anyOf: list(ref('Schema')),
      propertyOrdering: list('string'),
      default: 'any',
      items: ref('Schema'),
      minimum: 'number',
      maximum: 'number',
    }),
    ToolConfig: message({
      functionCallingConfig: message({
        mode: words('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'),
        allowedFunctionNames: list('string'),
      }),
      retrievalConfig: DATA,
      includeServerSideToolInvocations: 'boolean',
    }),
    GenerationConfig: message({
      stopSequences: list('string'),
      responseMimeType: 'string',
      responseSchema: ref('Schema'),
      responseJsonSchema: 'any',
      responseModalities: list('string'),
      candidateCount: 'number',
      maxOutputTokens: 'number',
      temperature: 'number',
      topP: 'number',
      topK: 'number',
      seed: 'number',
      presencePenalty: 'number',
      frequencyPenalty: 'number',
      responseLogprobs: 'boolean',
      logprobs: 'number',
      enableEnhancedCivicAnswers: 'boolean',
      speechConfig: DATA,
      thinkingConfig: message({
        includeThoughts: 'boolean',
        thinkingBudget: 'number',
        thinkingLevel: 'string',
      }),
      imageConfig: DATA,
      mediaResolution: 'string',
    }),
  },
}
