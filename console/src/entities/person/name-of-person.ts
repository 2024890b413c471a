/** The most readable name of a person. */
export const nameOfPerson = ({ subject, name, email }: { readonly subject: string; readonly name: string; readonly email: string }): string => name || email || subject;
