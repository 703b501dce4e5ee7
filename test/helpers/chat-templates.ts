/**
 * The prompt formats of common families of models, as Jinja. Each is written here after the published description of the
 * format: the same places, in the same order, with the same encoding of each. The instructions between them are in
 * words of our own, about as long as those of the model. No template of a model is copied, since licences differ.
 */
export interface ChatTemplate {
  /** Where the format is described. */
  readonly source: string
  /** The tokens that are one token each. */
  readonly special: RegExp
  readonly text: string
}

const PIPED = /<\|[\w ]+\|>/g

const INSTRUCTIONS =
  'You may call functions to help with the question of the user. Call a function only if it is needed, and ask if an ' +
  'argument is not known. Answer a call in the format {"name": name of the function, "parameters": an object with the ' +
  'names of arguments and their values}. Do not use variables, and do not explain the call.'

const CHATML_TOOLS = `# Tools

${INSTRUCTIONS}

The signatures of the functions are within <tools></tools>:
<tools>
{%- for tool in tools %}
{{ '\\n' }}{{ tool | tojson }}
{%- endfor %}
{{ '\\n' }}</tools>

For each call, return an object within <tool_call></tool_call>:
<tool_call>
{"name": <name>, "arguments": <arguments>}
</tool_call>`

/** Qwen joins the results of tools into one turn, as text. */
const QWEN = `{%- if tools %}
<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}{{ '\\n\\n' }}{% endif %}
${CHATML_TOOLS}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not (tools and loop.first)) %}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}
<|im_start|>assistant
{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
{{ '\\n' }}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == 'tool' %}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}
{%- endfor %}<|im_start|>assistant
`

export const CHAT_TEMPLATES: Readonly<Record<string, ChatTemplate>> = {
  'Llama 3.1 to 3.3': {
    source: 'https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/',
    special: PIPED,
    text: `<|begin_of_text|><|start_header_id|>system<|end_header_id|>

{% if tools %}Environment: ipython
{% endif %}
Cutting Knowledge Date: December 2023
Today Date: 26 Jul 2024

{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}<|eot_id|>
{%- set seen = namespace(user=false) %}
{%- for message in messages %}
{%- if message.role == 'user' and tools and not seen.user %}
{%- set seen.user = true %}<|start_header_id|>user<|end_header_id|>

${INSTRUCTIONS}

{% for tool in tools %}{{ tool | tojson(indent=4) }}

{% endfor %}{{ message.content }}<|eot_id|>
{%- elif message.tool_calls %}<|start_header_id|>assistant<|end_header_id|>

{% for call in message.tool_calls %}{"name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}{% endfor %}<|eot_id|>
{%- elif message.role == 'tool' %}<|start_header_id|>ipython<|end_header_id|>

{{ message.content | tojson }}<|eot_id|>
{%- elif not (loop.first and message.role == 'system') %}<|start_header_id|>{{ message.role }}<|end_header_id|>

{{ message.content }}<|eot_id|>
{%- endif %}{%- endfor %}<|start_header_id|>assistant<|end_header_id|>

`,
  },
  'Qwen 2.5': {
    source: 'https://qwen.readthedocs.io/en/latest/framework/function_call.html',
    special: PIPED,
    text: QWEN,
  },
  'Qwen 3': {
    source: 'https://qwen.readthedocs.io/en/latest/getting_started/concepts.html',
    special: /<\|[\w ]+\|>|<\/?(?:think|tool_call|tool_response)>/g,
    text: QWEN,
  },
  'Hermes, ChatML': {
    source: 'https://github.com/NousResearch/Hermes-Function-Calling',
    special: PIPED,
    text: `<|im_start|>system
${CHATML_TOOLS}<|im_end|>
{% for message in messages %}
{%- if message.role == 'tool' %}
<|im_start|>tool
<tool_response>
{"name": "{{ message.name }}", "content": {{ message.content | tojson }}}
</tool_response><|im_end|>
{% else %}
<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
{{ '\\n' }}<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}<|im_start|>assistant
`,
  },
  Mistral: {
    source: 'https://docs.mistral.ai/guides/tokenization/',
    special: /<\/?s>|\[\/?[A-Z_]+\]/g,
    text: `<s>{% for message in messages %}
{%- if message.role == 'system' %}[SYSTEM_PROMPT]{{ message.content }}[/SYSTEM_PROMPT]
{%- elif message.role == 'user' %}
{%- if tools and loop.index0 <= 1 %}[AVAILABLE_TOOLS] [
{%- for tool in tools %}{{ tool | tojson }}{% if not loop.last %}, {% endif %}{% endfor %}][/AVAILABLE_TOOLS]
{%- endif %}[INST]{{ message.content }}[/INST]
{%- elif message.tool_calls %}[TOOL_CALLS] [
{%- for call in message.tool_calls or [] %}{{ call.function | tojson }}, "id": "{{ call.id }}"}{% endfor %}]</s>
{%- elif message.role == 'tool' %}[TOOL_RESULTS] {"content": {{ message.content | tojson }}, "call_id": "{{ message.tool_call_id }}"}[/TOOL_RESULTS]
{%- else %}{{ message.content }}</s>{% endif %}
{%- endfor %}`,
  },
  'DeepSeek V3': {
    source: 'https://api-docs.deepseek.com/quick_start/token_usage',
    special: /<｜[^｜]+｜>/g,
    text: `<｜begin▁of▁sentence｜>{% if tools %}## Tools
${INSTRUCTIONS}

{% for tool in tools %}### {{ tool.function.name }}
Description: {{ tool.function.description }}

Parameters: {{ tool.function.parameters | tojson }}

{% endfor %}{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}<｜User｜>{{ message.content }}
{%- elif message.role == 'assistant' %}<｜Assistant｜></think>{{ message.content }}
{%- if message.tool_calls %}<｜tool▁calls▁begin｜>
{%- for call in message.tool_calls or [] %}<｜tool▁call▁begin｜>{{ call.function.name }}<｜tool▁sep｜>{{ call.function.arguments | tojson }}<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>
{%- endif %}<｜end▁of▁sentence｜>
{%- elif message.role == 'tool' %}<｜tool▁output▁begin｜>{{ message.content }}<｜tool▁output▁end｜>
{%- else %}{{ message.content }}{{ '\\n\\n' }}{% endif %}
{%- endfor %}<｜Assistant｜></think>`,
  },
  'Gemma 3': {
    source: 'https://ai.google.dev/gemma/docs/core/prompt-structure',
    special: /<(?:bos|start_of_turn|end_of_turn)>/g,
    text: `<bos>{% for message in messages %}<start_of_turn>{% if message.role == 'assistant' %}model{% else %}user{% endif %}
{% if loop.first and tools %}${INSTRUCTIONS}

{{ tools | tojson(indent=4) }}

{% endif %}{{ message.content }}
{%- for call in message.tool_calls or [] %}{{ '\\n' }}{{ call.function | tojson }}{% endfor %}<end_of_turn>
{% endfor %}<start_of_turn>model
`,
  },
  'Command R': {
    source: 'https://docs.cohere.com/docs/command-r7b-hf',
    special: /<\|[A-Z_]+\|>/g,
    text: `<BOS_TOKEN><|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|># System Preamble
## Available Tools
${INSTRUCTIONS}
[
{% for tool in tools %}
    {"name": "{{ tool.function.name }}", "description": "{{ tool.function.description }}", "parameters": {{ tool.function.parameters | tojson }}, "responses": null}{% if not loop.last %},{% endif %}

{% endfor %}
]
<|END_OF_TURN_TOKEN|>
{%- for message in messages %}
{%- if message.role == 'tool' %}<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|><|START_TOOL_RESULT|>[
    {
        "tool_call_id": "{{ loop.index0 }}",
        "results": {
            "0": {{ message.content | tojson }}
        },
        "is_error": null
    }
]<|END_TOOL_RESULT|><|END_OF_TURN_TOKEN|>
{%- elif message.tool_calls %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>{{ message.reasoning_content }}<|END_THINKING|><|START_ACTION|>[
{% for call in message.tool_calls %}
    {"tool_call_id": "{{ loop.index0 }}", "tool_name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}{% if not loop.last %},{% endif %}

{% endfor %}
]<|END_ACTION|><|END_OF_TURN_TOKEN|>
{%- else %}<|START_OF_TURN_TOKEN|><|USER_TOKEN|>{{ message.content }}<|END_OF_TURN_TOKEN|>{% endif %}
{%- endfor %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>`,
  },
  'gpt-oss': {
    source: 'https://cookbook.openai.com/articles/openai-harmony',
    special: PIPED,
    text: `<|start|>system<|message|>You are a helpful model.
Knowledge cutoff: 2024-06
Current date: 2026-01-01

Reasoning: medium

# Valid channels: analysis, commentary, final.<|end|><|start|>developer<|message|># Tools

## functions

namespace functions {

{% for tool in tools %}// {{ tool.function.description }}
type {{ tool.function.name }} = (_: {
{% for name, about in tool.function.parameters.properties.items() %}
// {{ about.description }}
{{ name }}: {% if about.enum %}"{{ about.enum | join('" | "') }}"{% else %}{{ about.type }}{% endif %},
{% endfor %}
}) => any;

{% endfor %}} // namespace functions<|end|>
{%- for message in messages %}
{%- if message.role == 'tool' %}<|start|>functions.{{ message.name }} to=assistant<|channel|>commentary<|message|>{{ message.content | tojson }}<|end|>
{%- elif message.tool_calls %}
{%- for call in message.tool_calls or [] %}<|start|>assistant to=functions.{{ call.function.name }}<|channel|>commentary json<|message|>{{ call.function.arguments | tojson }}<|call|>{% endfor %}
{%- elif message.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ message.content }}<|end|>
{%- else %}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>{% endif %}
{%- endfor %}<|start|>assistant`,
  },
}
