import type { AiSdkLanguageModel } from '../../../src/providers/ai-sdk/index.js'

const END = { finishReason: 'stop', usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 } }

/** A model of the AI SDK that replies with these parts. */
export class SdkModel implements AiSdkLanguageModel {
  readonly specificationVersion = 'v2'
  readonly provider = 'bench'
  readonly modelId = 'bench'
  readonly supportedUrls = {}
  parts: readonly object[] = []

  async doGenerate(): Promise<object> {
    return { content: this.parts, warnings: [], ...END }
  }

  async doStream() {
    const parts = [...this.parts, { type: 'finish', ...END }].values()
    const stream = new ReadableStream<unknown>({
      pull(controller) {
        const { done, value } = parts.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    })
    return { stream }
  }
}
