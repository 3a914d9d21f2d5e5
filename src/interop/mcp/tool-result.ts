import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { ToolError } from '../../core/values/errors.ts';
import type { Part } from '../../core/values/message.ts';

const MEDIA_TYPE = /^[a-z0-9][\w.+-]*\/[\w.+-]+$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * A server's answer as a tool's value: text alone as text, structured content as JSON, anything else as content parts. Links become text and are not followed.
 *
 * @throws ToolError with the server's text if the tool failed.
 */
export function toolResult({ content, structuredContent, isError }: CallToolResult, tool: string): unknown {
  if (isError === true) {
    const text = content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
    throw new ToolError('threw', text.trim() === '' ? `${tool} failed and says nothing` : text, {
      code: 'mcp_tool_error',
    });
  }
  const isPlain = content.every(({ type }) => type === 'text');
  // The text repeats it for clients without structured content.
  if (structuredContent !== undefined && isPlain) return structuredContent;
  const parts = content.map(partOf);
  const texts = parts.map((part) => (part.type === 'text' ? part.text : undefined));
  if (structuredContent !== undefined)
    return [{ type: 'text', text: JSON.stringify(structuredContent) }, ...media(parts)];
  if (texts.every((text) => text !== undefined)) return texts.join('\n');
  return parts;
}

function media(parts: readonly Part[]): readonly Part[] {
  return parts.filter(({ type }) => type !== 'text');
}

function partOf(block: ContentBlock): Part {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return binary(block.mimeType, block.data, undefined);
    case 'audio':
      return binary(block.mimeType, block.data, undefined);
    case 'resource_link':
      return { type: 'text', text: linkText(block) };
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return { type: 'text', text: `[${resource.uri}]\n${resource.text}` };
      return binary(resource.mimeType, resource.blob, resource.uri);
    }
  }
}

function binary(mimeType: string | undefined, data: string, name: string | undefined): Part {
  const mediaType = mimeType !== undefined && MEDIA_TYPE.test(mimeType) ? mimeType : 'application/octet-stream';
  if (!BASE64.test(data)) return { type: 'text', text: `[${mediaType} that is no base64 was left out]` };
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  return { type, mediaType, data, ...(name !== undefined && { name: name.slice(0, 200) }) };
}

function linkText(link: {
  readonly uri: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}): string {
  const facts = [link.mimeType, link.description].filter((fact) => fact !== undefined && fact !== '');
  return `[link: ${link.title ?? link.name} <${link.uri}>${facts.length === 0 ? '' : ` (${facts.join('; ')})`}]`;
}
